import { HostError } from "../../core/host.ts";

/** Time that a host's session or channel may take to answer. */
const TIMEOUT_MS = 60_000;
/** Grace after an abort: a call that the host has just taken need not be repeated. */
const GRACE_MS = 500;

/**
 * Awaits a call of the host. Gives up on one that is not answered within a minute, or soon after
 * `ending` was aborted: rejects with a `HostError` that says that the same call may succeed later, which it
 * does under the same idempotency key.
 */
export async function withTimeout<Result>(call: Promise<Result>, ending: AbortSignal): Promise<Result> {
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const giveUp = (why: string): void => reject(new HostError(why, { retryable: true }));
  let timer = setTimeout(giveUp, TIMEOUT_MS, `it did not answer within ${TIMEOUT_MS / 1_000} s`);
  const hurry = (): void => {
    clearTimeout(timer);
    timer = setTimeout(giveUp, GRACE_MS, "it did not answer before the run was aborted");
  };
  ending.addEventListener("abort", hurry, { once: true });
  if (ending.aborted) hurry();
  try {
    return await Promise.race([call, overdue]);
  } finally {
    clearTimeout(timer);
    ending.removeEventListener("abort", hurry);
  }
}
