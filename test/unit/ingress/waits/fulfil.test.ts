import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Wait } from "../../../../src/core/wait.ts";
import { WaitClock } from "../../../../src/ingress/waits/wait-clock.ts";
import { callPipeline } from "../stages/pipeline-calls.ts";
import { RECEIVED_AT, StageBench } from "../stages/stage-bench.ts";
import { newWait } from "./new-wait.ts";
import { waitingBench } from "./waiting-bench.ts";

const MAPPING = { messageTemplate: "{{text}}", deliver: false };
const MAPPINGS = [
  { ...MAPPING, id: "alerts", match: { path: "alerts" } },
  { ...MAPPING, id: "deploys", match: { path: "deploys" } },
];
const UNTIL = RECEIVED_AT + 60_000;
/** Its quiet time has ended, and the clock has not looked yet. */
const QUIET = newWait({
  none: [{ hook: "alerts" }],
  quietMs: 1_000,
  quietSince: RECEIVED_AT - 1_000,
  until: UNTIL,
});

describe("an event that comes when a quiet time has ended", () => {
  let bench: StageBench;
  beforeEach(async () => {
    bench = await StageBench.open();
  });
  afterEach(() => bench[Symbol.asyncDispose]());

  /** What is left of the wait after a call, and the runs of its session. */
  async function after(wait: Wait, path: string) {
    const { ingress, book } = await waitingBench(bench, [wait]);
    const active = await bench.active({ mappings: MAPPINGS });
    const clock = new WaitClock({ ingress, book, active: () => active });
    const clocked = { ...ingress, endDue: clock.endNow.bind(clock) };
    await callPipeline({ ingress: clocked }, active, { path, body: '{"text":"it burns"}' });
    const left = book.get(wait.id)?.wait;
    await clock.endDue();
    const texts: string[] = [];
    for (const { id } of (await ingress.store.list({ limit: 10 })).deliveries) {
      for (const { spec } of (await ingress.store.get(id))!.runs) {
        if (spec.sessionKey === wait.sessionKey && spec.kind === "agent") texts.push(spec.message);
      }
    }
    return { left, texts };
  }

  it("does not undo that the wait is fulfilled: the clock ends it", async () => {
    const { left, texts } = await after(QUIET, "alerts");
    expect(left?.quietSince).toBe(RECEIVED_AT - 1_000);
    expect(texts).toEqual([expect.stringMatching(/^Fulfilled: nothing that it excludes came/u)]);
    expect(texts[0]).not.toContain("burns");
  });

  it("starts the time again one millisecond before", async () => {
    const { left, texts } = await after({ ...QUIET, quietSince: RECEIVED_AT - 999 }, "alerts");
    expect(left?.quietSince).toBe(RECEIVED_AT);
    expect(texts).toEqual([]);
  });

  it("counts for the next of several times", async () => {
    const wait: Wait = {
      ...QUIET,
      all: [{ hook: "deploys" }],
      seen: [{ at: 1, hook: "deploys", event: null, text: "first", list: "all", index: 0 }],
      times: 2,
    };
    const { left, texts } = await after(wait, "deploys");
    expect(left).toMatchObject({ times: 1, seen: [{ text: "it burns" }], quietSince: RECEIVED_AT });
    expect(texts).toEqual([expect.stringContaining("first")]);
    expect(texts[0]).not.toContain("burns");
  });
});

describe("events that a session waits for together", () => {
  it("hide nothing of one another", async () => {
    await using bench = await StageBench.open();
    const all = [{ hook: "alerts" }, { hook: "deploys" }];
    const { ingress } = await waitingBench(bench, [newWait({ all, until: UNTIL })]);
    const active = await bench.active({ mappings: MAPPINGS });
    const call = (path: string, text: string) =>
      callPipeline({ ingress }, active, { path, body: JSON.stringify({ text }) });
    await call("alerts", 'a <!-- <b hidden> <i title="');
    await call("deploys", 'the second " hidden></i></b> --> b');
    const messages: string[] = [];
    for (const { id } of (await ingress.store.list({ limit: 10 })).deliveries) {
      for (const { spec } of (await ingress.store.get(id))!.runs) {
        if (spec.kind === "agent" && spec.message.startsWith("Waited for")) messages.push(spec.message);
      }
    }
    expect(messages).toEqual([expect.stringMatching(/ deploys\nthe second " hidden><\/i><\/b> --> b$/u)]);
  });
});
