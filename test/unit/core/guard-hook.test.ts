import {
  AsyncParallelBailHook,
  AsyncParallelHook,
  AsyncSeriesBailHook,
  AsyncSeriesHook,
  AsyncSeriesLoopHook,
  AsyncSeriesWaterfallHook,
  SyncBailHook,
  SyncHook,
  SyncLoopHook,
  SyncWaterfallHook,
} from "tapable";
import { describe, expect, it } from "vitest";
import { guardHook } from "../../../src/core/guard-hook.ts";

type Sync =
  | SyncHook<[string]>
  | SyncBailHook<[string], unknown>
  | SyncWaterfallHook<[unknown]>
  | SyncLoopHook<[string]>;
type Async =
  | AsyncSeriesHook<[string]>
  | AsyncSeriesBailHook<[string], unknown>
  | AsyncSeriesWaterfallHook<[unknown]>
  | AsyncSeriesLoopHook<[string]>
  | AsyncParallelHook<[string]>
  | AsyncParallelBailHook<[string], unknown>;

const SYNC: readonly [string, () => Sync][] = [
  ["SyncHook", () => new SyncHook<[string]>(["value"])],
  ["SyncBailHook", () => new SyncBailHook<[string], unknown>(["value"])],
  ["SyncWaterfallHook", () => new SyncWaterfallHook<[unknown]>(["value"])],
  ["SyncLoopHook", () => new SyncLoopHook<[string]>(["value"])],
];
const SERIES: readonly [string, () => Async][] = [
  ["AsyncSeriesHook", () => new AsyncSeriesHook<[string]>(["value"])],
  ["AsyncSeriesBailHook", () => new AsyncSeriesBailHook<[string], unknown>(["value"])],
  ["AsyncSeriesWaterfallHook", () => new AsyncSeriesWaterfallHook<[unknown]>(["value"])],
  ["AsyncSeriesLoopHook", () => new AsyncSeriesLoopHook<[string]>(["value"])],
];
const ASYNC: readonly [string, () => Async][] = [
  ...SERIES,
  ["AsyncParallelHook", () => new AsyncParallelHook<[string]>(["value"])],
  ["AsyncParallelBailHook", () => new AsyncParallelBailHook<[string], unknown>(["value"])],
];
const ALL = [...SYNC, ...ASYNC];

/** What the type system and the linter stop a plugin's author in TypeScript from writing. */
function tapPlainly(hook: Sync | Async, name: string, fn: (...args: unknown[]) => unknown): void {
  (hook as SyncHook<unknown[]>).tap(name, fn);
}

async function fire(hook: Sync | Async, value = "v"): Promise<unknown> {
  // The hooks that can wait have no `call`.
  const { call } = hook as { call?: unknown };
  return typeof call === "function" ? (hook as SyncHook<[string]>).call(value) : (hook as Async).promise(value);
}

const failure = new Error("the disk is full");

describe("an async function tapped with tap()", () => {
  it.each(ALL)("is refused by %s when it is registered, naming hook and tap", (_class, make) => {
    const hook = guardHook("settled", make());
    expect(() => tapPlainly(hook, "audit", async () => {})).toThrow(
      new TypeError(
        'Hook "settled", tap "audit": an async function was tapped with tap(); use tapPromise() so that it is awaited.',
      ),
    );
    expect(hook.isUsed()).toBe(false);
  });

  it("is refused when it was tapped before the hook was guarded", () => {
    const hook = new SyncHook<[string]>(["value"]);
    tapPlainly(hook, "early", async () => {});
    expect(() => guardHook("presets", hook)).toThrow('Hook "presets", tap "early": an async function');
  });
});

describe("a plain function tapped with tap() that returns a promise", () => {
  it.each(ALL)("is refused by %s when it is called, naming hook and tap", async (_class, make) => {
    const hook = guardHook("settled", make());
    tapPlainly(hook, "audit", () => Promise.resolve());
    await expect(fire(hook)).rejects.toThrow(
      'Hook "settled", tap "audit": a function tapped with tap() returned a promise; use tapPromise() so that it is awaited.',
    );
  });

  it.each(ALL)("does not end the process when %s called it and its promise rejects", async (_class, make) => {
    const hook = guardHook("settled", make());
    tapPlainly(hook, "audit", () => Promise.reject(failure));
    await expect(fire(hook)).rejects.toThrow("returned a promise");
    await new Promise(setImmediate);
  });

  it.each([
    ["SyncBailHook", () => new SyncBailHook<[string], unknown>(["value"])] as const,
    ["AsyncSeriesBailHook", () => new AsyncSeriesBailHook<[string], unknown>(["value"])] as const,
  ])("on a %s fails the call: no later tap is skipped in silence", async (_class, make) => {
    const hook = guardHook("policy", make());
    let later = 0;
    tapPlainly(hook, "broken", () => Promise.resolve(undefined));
    tapPlainly(hook, "deny", () => {
      later++;
      return "denied";
    });
    await expect(fire(hook)).rejects.toThrow('tap "broken"');
    expect(later).toBe(0);
  });

  it("is known by its `then`, of whatever class the promise is", () => {
    const hook = guardHook("presets", new SyncHook<[string]>(["value"]));
    // oxlint-disable-next-line unicorn/no-thenable -- a promise of another library is just that
    tapPlainly(hook, "thenable", () => ({ then: (_: unknown, rejected: () => void) => rejected() }));
    expect(() => hook.call("v")).toThrow('tap "thenable": a function tapped with tap() returned a promise');
  });
});

describe("a tap that fails", () => {
  const named = 'Hook "settled", tap "audit": the disk is full';

  it.each(ALL)("with an exception is named in the error of %s, which keeps the cause", async (_class, make) => {
    const hook = guardHook("settled", make());
    tapPlainly(hook, "audit", () => {
      throw failure;
    });
    await expect(fire(hook)).rejects.toThrow(expect.objectContaining({ message: named, cause: failure }));
  });

  it.each(ASYNC)("with a rejected promise is named in the error of %s, which keeps the cause", async (_class, make) => {
    const hook = guardHook("settled", make());
    hook.tapPromise("audit", () => Promise.reject(failure));
    await expect(hook.promise("v")).rejects.toThrow(expect.objectContaining({ message: named, cause: failure }));
  });

  it.each(ASYNC)("through its callback is named in the error of %s, which keeps the cause", async (_class, make) => {
    const hook = guardHook("settled", make());
    hook.tapAsync("audit", (_value, done) => {
      done(failure);
    });
    await expect(hook.promise("v")).rejects.toThrow(expect.objectContaining({ message: named, cause: failure }));
  });

  it.each(["no disk", undefined, null])("with %s instead of an error is named all the same", async (thrown) => {
    const hook = guardHook("settled", new AsyncSeriesHook<[string]>(["value"]));
    hook.tap("audit", () => {
      // oxlint-disable-next-line typescript/only-throw-error -- what plugins do
      throw thrown;
    });
    await expect(hook.promise("v")).rejects.toThrow(`Hook "settled", tap "audit": ${thrown}`);
  });
});

describe("a later tap of a series, which tapable calls outside of any try", () => {
  const withFirst = (make: () => Async): Async => {
    const hook = guardHook("settled", make());
    hook.tapPromise("first", async () => {
      await new Promise(setImmediate);
    });
    return hook;
  };

  it.each(SERIES)("fails the call of %s when it throws before it gives a promise", async (_class, make) => {
    const hook = withFirst(make);
    hook.tapPromise("audit", () => {
      throw failure;
    });
    await expect(hook.promise("v")).rejects.toThrow('Hook "settled", tap "audit": the disk is full');
  });

  it.each(SERIES)("fails the call of %s when it was tapped with tapPromise() and gives none", async (_class, make) => {
    const hook = withFirst(make);
    const loosely = hook as { tapPromise(name: string, fn: () => unknown): void };
    loosely.tapPromise("audit", () => undefined);
    await expect(hook.promise("v")).rejects.toThrow(
      'Hook "settled", tap "audit": a function tapped with tapPromise() returned no promise; use tap().',
    );
  });

  it.each(SERIES)("fails the call of %s when it throws before it calls back", async (_class, make) => {
    const hook = withFirst(make);
    hook.tapAsync("audit", () => {
      throw failure;
    });
    await expect(hook.promise("v")).rejects.toThrow('Hook "settled", tap "audit": the disk is full');
  });

  it.each(SERIES)("fails the call of %s when it is async and rejects before it calls back", async (_class, make) => {
    const hook = withFirst(make);
    // oxlint-disable-next-line typescript/no-misused-promises -- what plugins do
    hook.tapAsync("audit", () => Promise.reject(failure));
    await expect(hook.promise("v")).rejects.toThrow('Hook "settled", tap "audit": the disk is full');
  });
});

describe("taps that are written as they should be", () => {
  it("are called in order, with their arguments, and their results arrive", async () => {
    const calls: unknown[] = [];
    const hook = guardHook("actions", new AsyncSeriesWaterfallHook<[string[], number]>(["actions", "context"]));
    hook.tap("plain", (actions, context) => {
      calls.push(["plain", context]);
      return [...actions, "plain"];
    });
    hook.tapPromise("promise", (actions, context) => {
      calls.push(["promise", context]);
      return Promise.resolve([...actions, "promise"]);
    });
    hook.tapAsync("callback", (actions, context, done) => {
      calls.push(["callback", context]);
      setImmediate(done, null, [...actions, "callback"]);
    });
    expect(await hook.promise(["mapped"], 7)).toEqual(["mapped", "plain", "promise", "callback"]);
    expect(calls).toEqual([
      ["plain", 7],
      ["promise", 7],
      ["callback", 7],
    ]);
  });

  it("bail with what they answer, and not with undefined", async () => {
    const hook = guardHook("policy", new AsyncSeriesBailHook<[string], string | undefined>(["value"]));
    hook.tapPromise("silent", () => Promise.resolve(undefined));
    hook.tapAsync("silent too", (_value, done) => {
      done();
    });
    hook.tap("answers", () => "no");
    hook.tap("never asked", () => {
      throw failure;
    });
    expect(await hook.promise("v")).toBe("no");
  });

  it("may return objects that are no promises", () => {
    const hook = guardHook("resolve", new SyncBailHook<[string], object>(["value"]));
    // oxlint-disable-next-line unicorn/no-thenable -- a word like any other
    const answer = { then: "a word" };
    hook.tap("answers", () => answer);
    expect(hook.call("v")).toBe(answer);
  });

  it("may return null", () => {
    const hook = guardHook("resolve", new SyncBailHook<[string], null>(["value"]));
    hook.tap("answers", () => null);
    expect(hook.call("v")).toBeNull();
  });

  it("keep their place among the others", () => {
    const hook = guardHook("presets", new SyncHook<[string]>(["value"]));
    const order: string[] = [];
    hook.tap("second", () => void order.push("second"));
    hook.tap({ name: "first", before: "second" }, () => void order.push("first"));
    hook.tap({ name: "zeroth", stage: -1 }, () => void order.push("zeroth"));
    hook.call("v");
    expect(order).toEqual(["zeroth", "first", "second"]);
  });

  it("are not answered for by the guard when the caller's own callback throws", () => {
    const hook = guardHook("settled", new AsyncSeriesHook<[string]>(["value"]));
    hook.tapAsync("done at once", (_value, done) => {
      done();
    });
    const answers: unknown[] = [];
    expect(() =>
      hook.callAsync("v", (error) => {
        answers.push(error);
        throw failure;
      }),
    ).toThrow(failure);
    expect(answers).toEqual([undefined]);
  });

  it("that are async and tapped with tapAsync() have answered once they called back", async () => {
    const hook = guardHook("settled", new AsyncSeriesHook<[string]>(["value"]));
    // oxlint-disable-next-line typescript/no-misused-promises -- what plugins do
    hook.tapAsync("calls back, then fails", async (_value, done) => {
      done();
      await Promise.reject(failure);
    });
    await expect(hook.promise("v")).resolves.toBeUndefined();
    await new Promise(setImmediate);
  });
});

describe("guardHook", () => {
  it("returns the hook, with its name", () => {
    const hook = new SyncHook<[string]>(["value"]);
    expect(guardHook("presets", hook)).toBe(hook);
    expect(hook.name).toBe("presets");
  });

  it("leaves a hook unused until somebody taps or intercepts it, so that asking spares the call", () => {
    const tapped = guardHook("presets", new SyncHook<[string]>(["value"]));
    expect(tapped.isUsed()).toBe(false);
    tapped.tap("somebody", () => {});
    expect(tapped.isUsed()).toBe(true);
    const intercepted = guardHook("presets", new SyncHook<[string]>(["value"]));
    intercepted.intercept({ name: "trace", call: () => {} });
    expect(intercepted.isUsed()).toBe(true);
  });
});
