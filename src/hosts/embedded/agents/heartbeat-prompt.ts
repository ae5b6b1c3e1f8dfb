/** What a turn of the heartbeat is asked. */
import type { PendingEvent } from "../state/session-reads.ts";

/** Everything that a reader may take for the start of a line. */
const LINE_BREAKS = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/;
const MAX_REASONS_CHARS = 500;

/**
 * The prompt of a turn: the events, every line of them after `System:`, so that no event can write
 * a line that looks like anything else; then, in the gateway's own words, what is to be done.
 */
export function heartbeatPrompt(turn: {
  readonly events: readonly PendingEvent[];
  /** Why the turn was asked for: `hook:wake`, `periodic`. */
  readonly reasons: readonly string[];
  readonly now: Date;
}): string {
  const lines = turn.events.flatMap(({ text, time }) =>
    `[${time}] ${text}`.split(LINE_BREAKS).map((line) => `System: ${line}`),
  );
  const reasons = turn.reasons
    .join(", ")
    .replaceAll(/[\p{C}\p{Z}\s]+/gu, " ")
    .slice(0, MAX_REASONS_CHARS);
  const task =
    lines.length > 0
      ? "Look at the system events above and do what they call for, as far as your owner would want it."
      : "No new system events have come in.";
  return [
    ...(lines.length > 0 ? [lines.join("\n")] : []),
    `Heartbeat (${reasons}), ${turn.now.toISOString()}. ${task} ` +
      "If nothing needs your owner's attention, reply with exactly HEARTBEAT_OK.",
  ].join("\n\n");
}
