import { describe, expect, it } from "vitest";
import type { RunSpec } from "../../../../src/core/run.ts";
import type { Accepted } from "../../../../src/ingress/commit.ts";
import type { Resolved, Route } from "../../../../src/ingress/stages/resolve.ts";
import { respond } from "../../../../src/ingress/stages/respond.ts";
import { compileMapping } from "../../../../src/mapping/compile-mapping.ts";
import { BUILT_IN_PRESETS } from "../../../../src/presets/built-in.ts";
import { mappingOf, requestWith } from "../../mapping/mappings.ts";
import { agentSpec, wakeSpec } from "../../dispatch/dispatch-bench.ts";

const answerOf = (runIds: readonly string[], specs: readonly RunSpec[], changes: Partial<Accepted> = {}) => {
  const { status, headers, payload } = respond(resolvedAs("agent"), {
    deliveryId: "d1",
    runIds,
    specs,
    ended: undefined,
    ...changes,
  });
  return { status, type: headers["content-type"], body: payload === "" ? undefined : (JSON.parse(payload) as unknown) };
};
const resolvedAs = (route: Route, payload: unknown = {}): Resolved => ({
  route,
  context: requestWith(payload),
  ofSender: false,
  deliveryId: undefined,
  miss: undefined,
});
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

  it("to a call that became a part of a run is that run's id, and says so", () => {
    expect(answerOf(["r1"], [agentSpec()], { ended: "coalesced" })).toEqual({
      status: 202,
      type: json,
      body: { ok: true, runId: "r1", deliveryId: "d1", coalesced: true },
    });
    expect(answerOf(["r1"], [wakeSpec()], { ended: "coalesced" })).toMatchObject({
      status: 200,
      body: { runId: "r1", coalesced: true },
    });
  });

  it("to a call that has no run says what kept it from having one", () => {
    expect(answerOf([], [], { ended: "filtered" })).toEqual({
      status: 200,
      type: json,
      body: { ok: true, deliveryId: "d1", skipped: "filter" },
    });
    expect(answerOf([], [], { ended: "skipped", overlapped: true })).toEqual({
      status: 200,
      type: json,
      body: { ok: true, deliveryId: "d1", skipped: "overlap" },
    });
    expect(answerOf([], [], { ended: "skipped" }).status).toBe(204);
  });
});

describe("the answer that a mapping wants", () => {
  const ACCEPTED: Accepted = { deliveryId: "d1", runIds: ["r1"], specs: [agentSpec()], ended: undefined };
  const answer = (wanted: object, changes: Partial<Accepted> = {}, payload: unknown = {}) =>
    respond(resolvedAs(mappingOf({ messageTemplate: "m", respond: wanted }), payload), { ...ACCEPTED, ...changes });

  it("has its status and headers, and plain text of its template", () => {
    const wanted = { status: 201, headers: { "x-receipt": "yes" }, body: "took {{order}} as {{deliveryId}} {{runId}}" };
    const { status, headers, payload } = answer(wanted, {}, { order: 7 });
    expect([status, payload]).toEqual([201, "took 7 as d1 r1"]);
    expect(headers).toEqual({
      "content-type": "text/plain; charset=utf-8",
      "content-length": 15,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-receipt": "yes",
    });
  });

  it("has the type that its headers name", () => {
    const { headers } = answer({ status: 200, headers: { "Content-Type": "text/xml" }, body: "<Response/>" });
    expect(headers["content-type"]).toBe("text/xml");
  });

  it("is the ordinary one with another status when it has no template", () => {
    const { status, headers, payload } = answer({ status: 200, headers: { "x-a": "b" } });
    expect(status).toBe(200);
    expect(headers).toMatchObject({ "content-type": json, "x-a": "b" });
    expect(JSON.parse(payload)).toEqual({ ok: true, runId: "r1", deliveryId: "d1" });
  });

  it("is sent whatever the outcome of the call: its sender needs it", () => {
    const wanted = { status: 200, body: "[{{runId}}] ok" };
    expect(answer(wanted, { runIds: [], specs: [], ended: "filtered" }).payload).toBe("[] ok");
    expect(answer(wanted, { runIds: [], specs: [], ended: "skipped", overlapped: true }).payload).toBe("[] ok");
    expect(answer({ status: 200 }, { runIds: [], specs: [], ended: "skipped" })).toMatchObject({
      status: 200,
      headers: { "content-length": 0 },
      payload: "",
    });
  });

  it.each([204, 205])("with %d has no content (RFC 9110)", (status) => {
    const made = answer({ status, headers: { "content-type": "text/xml", "x-a": "b" }, body: "dropped" });
    expect([made.status, made.payload]).toEqual([status, ""]);
    expect(made.headers).not.toHaveProperty("content-type");
    expect(made.headers).toMatchObject({ "x-a": "b" });
  });

  it("wins over what the preset would answer", () => {
    const { config } = mappingOf({ messageTemplate: "m", respond: { status: 202, body: "mine" } });
    const mapping = compileMapping(
      config,
      undefined,
      BUILT_IN_PRESETS.find(({ name }) => name === "twilio"),
    );
    expect(respond(resolvedAs(mapping), ACCEPTED)).toMatchObject({ status: 202, payload: "mine" });
    const ordinary = compileMapping({ ...config, respond: { kind: "ordinary" } }, undefined, mapping.preset);
    expect(respond(resolvedAs(ordinary), ACCEPTED).payload).not.toBe("mine");
    expect(respond(resolvedAs(ordinary), ACCEPTED).headers["content-type"]).not.toBe(json);
  });

  it("of a preset is 200 with content, whatever the call's outcome", () => {
    const preset = BUILT_IN_PRESETS.find(({ name }) => name === "linear");
    const mapping = compileMapping(mappingOf({ messageTemplate: "m" }).config, undefined, preset);
    const answer = (changes: Partial<Accepted>) => {
      const { status, payload } = respond(resolvedAs(mapping), { ...ACCEPTED, ...changes });
      return [status, JSON.parse(payload)];
    };
    const { deliveryId } = ACCEPTED;
    expect(answer({})).toEqual([200, { ok: true, runId: ACCEPTED.runIds[0], deliveryId }]);
    expect(answer({ ended: "coalesced" })).toMatchObject([200, { coalesced: true }]);
    const none = { runIds: [], specs: [] };
    expect(answer({ ...none, ended: "skipped" })).toEqual([200, { ok: true, deliveryId, skipped: "no action" }]);
    expect(answer({ ...none, ended: "filtered" })).toEqual([200, { ok: true, deliveryId, skipped: "filter" }]);
  });
});
