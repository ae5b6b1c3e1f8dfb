/** What adopting a recorded configuration tells besides the two notes of every one. */
export interface Expected {
  /** Our block without the keys of every one: `enabled`, `tokenHeader`, and `path` where it is the usual one. */
  readonly block: object;
  readonly written?: readonly string[];
  readonly lost?: readonly string[];
  /** Notes about single keys. */
  readonly behavior?: readonly string[];
}

export const IN_BOUNDARY =
  "the text of the wake reaches the agent inside the boundary around untrusted content; allowUnsafeExternalContent: true leaves it away, for sources whose every word you trust.";
export const IN_ORDER = "decides which runs follow one another; each has a session of its own in OpenClaw.";
export const IN_SANDBOX =
  "runs in a process of its own that can only compute: no files, no network, no environment, 2 seconds a call, and the token is not among its headers. One that needs more: adopt with --transforms none. A module that cannot be loaded disables the whole block.";
export const NO_WATCHER =
  "hooks.gmail: The gateway no longer starts the Gmail watcher (gog gmail watch): OpenClaw does so only while hooks.enabled is true.";
export const ANY_ARRAY = "are answered 413, where OpenClaw drops the rest.";
export const ONE_MODEL =
  "plugins.entries.reveille.subagent: lets runs choose test/m: OpenClaw takes no model from a plugin without it.";
