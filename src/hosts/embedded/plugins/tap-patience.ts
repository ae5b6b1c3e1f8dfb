/** Taps of plugins, which may never come to an end. */

type TapType = "sync" | "async" | "promise";

type Tap<Given> = (given: Given, callback?: (error?: unknown) => void) => unknown;

/** Calls a tap however it was tapped; what it returns is to be awaited. */
export function callTap<Given>(tap: Tap<Given>, type: TapType, given: Given): unknown {
  if (type !== "async") return tap(given);
  return new Promise<void>((resolve, reject) => {
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- it is the plugin's own
    tap(given, (error) => (error ? reject(error) : resolve()));
  });
}

/** Waits for what a tap does; rejects with the problem when that has not ended in time. */
export async function endWithin(done: unknown, waitMs: number, problem: string): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new Error(problem));
  }, waitMs);
  try {
    await Promise.race([done, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
