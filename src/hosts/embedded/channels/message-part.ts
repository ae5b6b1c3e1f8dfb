/** What the channels that send over the network have in common. */
import { type ChannelMessage, HostError } from "../../../core/host.ts";

/** A message, or one of the parts that a long one is sent in. */
export interface MessagePart extends ChannelMessage {
  /** The same for every try. */
  readonly id: string;
}

/** Sends one part; rejects with a {@link HostError} when the platform did not take it. */
export type PartSender = (part: MessagePart, signal: AbortSignal | undefined) => Promise<void>;

/** Statuses below 500 that say that the same request may be taken later. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 425, 429]);

export function isRetryableStatus(status: number): boolean {
  return status >= 500 || RETRYABLE_STATUSES.has(status);
}

/** A signal that is aborted when the time is up, and with `stopped`. */
export function timedSignal(
  timeoutMs: number,
  stopped: AbortSignal | undefined,
): { readonly signal: AbortSignal; readonly isOverdue: () => boolean } {
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = stopped === undefined ? timeout : AbortSignal.any([timeout, stopped]);
  return { signal, isOverdue: () => timeout.aborted };
}

/** The error of a request that got no answer, which may succeed later. */
export function requestFailure(
  whose: string,
  { error, isOverdue, timeoutMs }: { readonly error: unknown; readonly isOverdue: boolean; readonly timeoutMs: number },
): HostError {
  const why = isOverdue ? `did not answer within ${timeoutMs} ms` : `could not be reached${codeOf(error)}`;
  return new HostError(`${whose} ${why}.`, { retryable: true, cause: error });
}

/** Fetch hides the reason in its error's cause. */
function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? ` (${cause.code})` : "";
}
