/** How much of everything the embedded gateway keeps; documented in `docs/gateway.md`. */
export const STATE_LIMITS = Object.freeze({
  /** Events of one session that wait for a turn; one more is refused for now. */
  maxPendingEvents: 10_000,
  /** Their bytes together. */
  maxPendingBytes: 67_108_864,
  /** The longest text of one event, in UTF-16 units; a longer one is refused for good. */
  maxEventChars: 1_048_576,
  /** How long the idempotency key of a consumed event is remembered at least. */
  eventKeyTtlMs: 7 * 24 * 60 * 60 * 1_000,
  /** The longest text kept of one message of a transcript, in UTF-16 units; the rest is cut. */
  maxMessageChars: 262_144,
  /** Messages kept of a session that has events, turns or a route of its own; the oldest go first. */
  maxSessionMessages: 1_000,
  /** Messages kept of a session that holds nothing but isolated runs. */
  maxRunSessionMessages: 200,
  /** Such sessions kept, give or take a few; the one that was idle longest goes first. */
  maxRunSessions: 10_000,
  /** Messages kept of what channels were given or are to be given. */
  maxOutboxMessages: 10_000,
});
