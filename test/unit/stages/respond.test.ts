import { describe, expect, it } from "vitest";
import type { RunSpec } from "../../../src/delivery.ts";
import { respond } from "../../../src/stages/respond.ts";
import { requestWith } from "../mapping/mappings.ts";
import { agentSpec, wakeSpec } from "../dispatch/dispatch-bench.ts";

const answerOf = (runIds: readonly string[], specs: readonly RunSpec[]) => {
  const { status, headers, payload } = respond(
    { route: "agent", context: requestWith({}), ofSender: false, deliveryId: undefined, miss: undefined },
    { deliveryId: "d1", runIds, specs, ended: undefined },
  );
  return { status, type: headers["content-type"], body: payload === "" ? undefined : (JSON.parse(payload) as unknown) };
};
const json = "application/json; charset=utf-8";

describe("the answer", () => {
  it("spec 4.1: to a wake is 200, with its mode", () => {
    expect(answerOf(["r1"], [wakeSpec()])).toEqual({
      status: 200,
      type: json,
      body: { ok: true, mode: "now", deliveryId: "d1" },
    });
    expect(answerOf(["r1"], [wakeSpec({ mode: "next-heartbeat" })])).toMatchObject({
      status: 200,
      body: { mode: "next-heartbeat" },
    });
  });

  it("spec 4.2: to an agent call is 202, with the run's id", () => {
    expect(answerOf(["r1"], [agentSpec()])).toEqual({
      status: 202,
      type: json,
      body: { ok: true, runId: "r1", deliveryId: "d1" },
    });
  });

  it("to a call that became several runs is 202, with all their ids", () => {
    expect(answerOf(["r1", "r2"], [agentSpec(), agentSpec()])).toEqual({
      status: 202,
      type: json,
      body: { ok: true, runId: "r1", runIds: ["r1", "r2"], dispatched: 2, deliveryId: "d1" },
    });
  });

  it("to a call that was skipped is 204, without content", () => {
    expect(answerOf([], [])).toEqual({ status: 204, type: undefined, body: undefined });
  });

  it("spec 4.1: to a call that became several wakes is 200, and 202 as soon as an agent runs", () => {
    expect(answerOf(["r1", "r2"], [wakeSpec(), wakeSpec()])).toMatchObject({ status: 200, body: { dispatched: 2 } });
    expect(answerOf(["r1", "r2"], [wakeSpec(), agentSpec()])).toMatchObject({ status: 202, body: { dispatched: 2 } });
  });
});
