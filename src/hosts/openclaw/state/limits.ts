/** How much of everything the adapter keeps. */
export const OPENCLAW_LIMITS = Object.freeze({
  /** Events of one session that wait for a turn; one more is refused for now. */
  maxPendingEvents: 10_000,
  /** Their bytes together. */
  maxPendingBytes: 67_108_864,
  /** The longest text of one event, in UTF-16 units; a longer one is refused for good. */
  maxEventChars: 1_048_576,
  /** How long keys of consumed events, of sent messages and of ended runs are remembered at least. */
  keyTtlMs: 7 * 24 * 60 * 60 * 1_000,
  /** How long the host's session of a run is kept after its end; shorter, so that it is known until then. */
  sessionTtlMs: 3 * 24 * 60 * 60 * 1_000,
});
