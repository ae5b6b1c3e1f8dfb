import { reasonOf } from "./reason-of.ts";
/**
 * The interceptor on every hook of the product.
 *
 * tapable does not await an async function tapped with `tap`, and on a bail hook it silently skips
 * every later tap; a later tap of a series that throws before it gives its promise or calls back
 * leaves the call pending for ever; and an error out of a hook does not say whose it is. This guard
 * refuses the first at registration (or, for a plain function that returns a promise, at its first
 * call), makes the second fail the call, and names hook and tap in every error.
 */

const AsyncFunction = (async () => {}).constructor;

/** The part of a tapable hook that the guard needs; every hook class has it. */
interface Guardable {
  name: string | undefined;
  readonly taps: readonly unknown[];
  readonly interceptors: readonly unknown[];
  isUsed(): boolean;
  intercept(interceptor: { name: string; register(tap: GuardedTap): GuardedTap }): void;
}

interface GuardedTap {
  readonly name: string;
  readonly type: "sync" | "async" | "promise";
  // oxlint-disable-next-line typescript/no-unsafe-function-type -- this is how tapable types a tap
  readonly fn: Function;
}

type TapFunction = (...args: unknown[]) => unknown;
type Answer = (result: unknown) => unknown;
type Callback = (error?: unknown, result?: unknown) => void;

/** Guards a hook and returns it; `name` is what errors call it, `answer` makes of a tap's result what the hook takes. */
export function guardHook<Guarded extends Guardable>(
  name: string,
  hook: Guarded,
  answer: Answer = (result) => result,
): Guarded {
  hook.name = name;
  hook.intercept({
    name: "guard",
    register(tap) {
      const who = `Hook "${name}", tap "${tap.name}"`;
      if (tap.type === "sync" && tap.fn instanceof AsyncFunction) {
        throw new TypeError(`${who}: an async function was tapped with tap(); use tapPromise() so that it is awaited.`);
      }
      return { ...tap, fn: GUARDS[tap.type](who, tap.fn as TapFunction, answer) };
    },
  });
  // tapable counts the guard itself; callers ask so that a hook without taps costs nothing.
  hook.isUsed = () => hook.taps.length > 0 || hook.interceptors.length > 1;
  return hook;
}

/** For a bail hook: `condition && answer` has nothing to say when the condition is false, and the next tap is asked. */
export function unlessNothing(result: unknown): unknown {
  return result || undefined;
}

const GUARDS = { sync: guardSync, promise: guardPromise, async: guardCallback };

function guardSync(who: string, fn: TapFunction, answer: Answer): TapFunction {
  return (...args) => {
    let result: unknown;
    try {
      result = fn(...args);
    } catch (error) {
      throw named(who, error);
    }
    if (!isThenable(result)) return answer(result);
    // No caller holds the promise from here on: its rejection must not end the process.
    result.then(undefined, () => {});
    throw new TypeError(
      `${who}: a function tapped with tap() returned a promise; use tapPromise() so that it is awaited.`,
    );
  };
}

function guardPromise(who: string, fn: TapFunction, answer: Answer): TapFunction {
  return async (...args) => {
    let result: unknown;
    try {
      result = fn(...args);
      if (isThenable(result)) return answer(await result);
    } catch (error) {
      throw named(who, error);
    }
    throw new TypeError(`${who}: a function tapped with tapPromise() returned no promise; use tap().`);
  };
}

function guardCallback(who: string, fn: TapFunction, answerOf: Answer): TapFunction {
  return (...args) => {
    const callback = args.pop() as Callback;
    let answered = false;
    const answer: Callback = (error, result) => {
      answered = true;
      callback(error ? named(who, error) : error, answerOf(result));
    };
    const fail = (error: unknown): void => callback(named(who, error));
    try {
      const result = fn(...args, answer);
      // A failure after the answer has no receiver, and must not end the process.
      if (isThenable(result)) result.then(undefined, (error: unknown) => (answered ? undefined : fail(error)));
    } catch (error) {
      // Once it has called back, what is thrown through it comes from the caller's side.
      if (answered) throw error;
      fail(error);
    }
  };
}

function named(who: string, error: unknown): Error {
  const reason = reasonOf(error);
  return new Error(`${who}: ${reason}`, { cause: error });
}

function isThenable(value: unknown): value is Promise<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
