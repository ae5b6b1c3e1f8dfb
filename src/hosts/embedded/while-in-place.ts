import { ANSWER_MARGIN_MS } from "../../storage/shared-store.ts";
import type { EmbeddedSessions } from "./sessions.ts";

const CONFIRM_MS = 1_000;

/**
 * Carries out work that no other gateway may carry out as well: it begins only when this one has its place, and is
 * aborted when that could not be confirmed for a while. Rejects when it has not begun.
 */
export async function whileInPlace<Result>(
  sessions: Pick<EmbeddedSessions, "areShared" | "confirmPlace">,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  await sessions.confirmPlace();
  if (!sessions.areShared) return work(signal);
  const ending = new AbortController();
  const end = (): void => ending.abort();
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  let confirmedMs = performance.now();
  const timer = setInterval(() => {
    const askedMs = performance.now();
    if (askedMs - confirmedMs > ANSWER_MARGIN_MS) end();
    sessions.confirmPlace().then(
      () => (confirmedMs = Math.max(confirmedMs, askedMs)),
      // It is asked again, and the margin runs on.
      () => {},
    );
  }, CONFIRM_MS);
  try {
    return await work(ending.signal);
  } finally {
    clearInterval(timer);
    signal.removeEventListener("abort", end);
  }
}
