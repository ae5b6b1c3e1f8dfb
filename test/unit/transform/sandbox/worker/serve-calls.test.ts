import { describe, expect, it } from "vitest";
import type { Frame } from "../../../../../src/transform/sandbox/frames.ts";
import { serveCalls } from "../../../../../src/transform/sandbox/worker/serve-calls.ts";
import { CurrentWork } from "../../../../../src/transform/sandbox/worker/current-work.ts";
import type { TransformFunction } from "../../../../../src/transform/context.ts";

interface Served {
  readonly answers: readonly unknown[];
  readonly begun: readonly unknown[];
  readonly ended: unknown;
  readonly calls: number;
}

const context = { payload: { n: 1 }, headers: {}, query: {}, path: "x", method: "POST", time: 0 };

/** Serves calls of the modules in turn over a list of requests, until it has ended. */
async function serve(
  transforms: readonly (TransformFunction | undefined)[],
  {
    requests,
    write,
    underWay = new CurrentWork(),
  }: { requests?: unknown[]; write?: () => void; underWay?: CurrentWork } = {},
): Promise<Served> {
  const wanted = requests ?? transforms.map((_, module) => ({ do: "call", id: module + 1, module, context }));
  const answers: unknown[] = [];
  const begun: unknown[] = [];
  let calls = 0;
  const channel = {
    read: (): Frame | undefined => {
      const request = wanted.shift();
      return request === undefined ? undefined : { json: JSON.stringify(request), body: new Uint8Array([65]) };
    },
    write: (json: string): void => {
      write?.();
      const said = JSON.parse(json) as { is: string };
      (said.is === "begun" ? begun : answers).push(said);
    },
  };
  const ended = await new Promise((onEnd) => {
    const describe = (error: unknown): string => `threw ${String(error)}`;
    const onCall = (): number => calls++;
    serveCalls({ channel, transforms, maxResultBytes: 1_000, current: underWay, describe, onCall, onEnd });
  });
  return { answers, begun, ended, calls };
}

describe("serveCalls", () => {
  it("answers each call in its order with what it returned or why it failed", async () => {
    const then = (resolve: (value: unknown) => void): void => resolve({ message: "then" });
    const thenable: object = new Proxy({}, { get: (_, key) => (key === "then" ? then : undefined) });
    const served = await serve([
      () => ({ message: "m" }),
      async () => await Promise.resolve(null),
      () => undefined,
      ({ rawBody }) => ({ message: `${String(rawBody)} ${rawBody.byteLength}` }),
      () => thenable,
      () => {
        throw new Error("sync");
      },
      () => Promise.reject(new Error("async")),
      () => (() => null) as never,
    ]);
    expect(served.answers).toEqual([
      { is: "returned", id: 1, value: { message: "m" } },
      { is: "returned", id: 2, value: null },
      { is: "returned", id: 3 },
      { is: "returned", id: 4, value: { message: "A 1" } },
      { is: "returned", id: 5, value: { message: "then" } },
      { is: "failed", id: 6, reason: "threw Error: sync" },
      { is: "failed", id: 7, reason: "threw Error: async" },
      expect.objectContaining({ is: "failed", id: 8, reason: expect.stringMatching(/^returned a function/) }),
    ]);
    expect(served).toMatchObject({ ended: undefined, calls: 8 });
    expect(served.begun).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((id) => ({ is: "begun", id })));
  });

  it("fails the call in progress with an uncaught error, and ignores what the call returns later", async () => {
    const underWay = new CurrentWork();
    const failing: TransformFunction = async () => {
      expect(underWay.fail("beside")).toBe(true);
      expect(underWay.fail("beside again")).toBe(false);
      return await Promise.resolve({ message: "late" });
    };
    const { answers } = await serve([failing, () => null], { underWay });
    expect(answers).toEqual([
      { is: "failed", id: 1, reason: "threw beside" },
      { is: "returned", id: 2, value: null },
    ]);
    expect(underWay.fail("nothing is under way")).toBe(false);
  });

  it.each([
    ["a module that was not loaded", [undefined], { do: "call", id: 1, module: 0, context }],
    ["something else than a call", [() => null], { do: "load" }],
  ])("ends when it is asked for %s", async (_, transforms, request) => {
    const { answers, ended } = await serve(transforms, { requests: [request] });
    expect(answers).toEqual([]);
    expect(ended).toEqual(new Error("the gateway asks for what was not loaded"));
  });

  it.each([
    ["that a call begins", 0, 0],
    ["an answer", 1, 1],
  ])("ends when %s cannot be written", async (_, written, called) => {
    const broken = new Error("EPIPE");
    let left = written;
    const write = (): void => {
      if (left-- <= 0) throw broken;
    };
    let calls = 0;
    const count = (): null => (calls++, null);
    expect(await serve([count, count], { write })).toMatchObject({ ended: broken, calls: 1 });
    expect(calls).toBe(called);
  });
});
