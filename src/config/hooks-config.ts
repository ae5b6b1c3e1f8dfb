/** The `hooks` block after validation: every default filled in, every secret resolved. */
import type { WakeMode } from "../delivery.ts";
import type { AuthConfig } from "./auth-config.ts";
import type { Handshake } from "./handshake-schema.ts";

export interface HooksConfig {
  readonly enabled: boolean;
  /** At least one when enabled; any of them is accepted (rotation). */
  readonly tokens: readonly string[];
  /** Lower case; the second carrier of the token. */
  readonly tokenHeader: string;
  /** Begins with `/`, never ends with one, never is `/`. */
  readonly path: string;
  /** Where the outside reaches the gateway, without a trailing slash; `hooks.path` follows it. */
  readonly publicUrl: string | undefined;
  readonly maxBodyBytes: number;
  /** Bytes that large requests of senders hold together before they are verified, over which the answer is 503. */
  readonly maxUnverifiedBytes: number;
  readonly bodyTimeoutMs: number;
  /** Nesting bound of a JSON body. */
  readonly maxDepth: number;
  /** Requests under way at once, over which the answer is 503. */
  readonly maxInFlight: number;
  /** Agent runs at once. */
  readonly concurrency: number;
  /** Open runs, over which the answer is 503. */
  readonly maxQueuedRuns: number;
  /** Items of a `forEach`, over which the answer is 413. */
  readonly maxFanOut: number;
  readonly idempotencyTtlMs: number;
  readonly lockout: LockoutConfig;
  /** `undefined`: any agent. */
  readonly allowedAgentIds: ReadonlySet<string> | undefined;
  readonly defaultSessionKey: string | undefined;
  readonly allowRequestSessionKey: boolean;
  /** Lower case; empty: no restriction. */
  readonly allowedSessionKeyPrefixes: readonly string[];
  readonly interrupted: "rerun" | "hold";
  /** Of a run that names none. */
  readonly defaultTimeoutMs: number;
  /** Absolute path; need not exist. */
  readonly transformsDir: string;
  readonly gmail: GmailConfig;
  /** Names of enabled presets, in order. */
  readonly presets: readonly string[];
  /** The own ones in their order, then one for each enabled preset. */
  readonly mappings: readonly MappingConfig[];
}

export interface LockoutConfig {
  /** Failures within the window that lock an address. */
  readonly failures: number;
  readonly windowMs: number;
  readonly lockMs: number;
  /** Addresses remembered at once. */
  readonly maxClients: number;
}

export interface GmailConfig {
  readonly model: string | undefined;
  readonly thinking: string | undefined;
  readonly allowUnsafeExternalContent: boolean | undefined;
  /** Bytes of a mail's body that the watcher sends; the body limit follows from it. */
  readonly maxBytes: number;
}

/** Further keys of `hooks.<preset>` besides `secret`, `auth` and the mapping's own, by name. */
export type PresetSettings = Readonly<Record<string, unknown>>;

/** One mapping (reference/openclaw.md 1.2), own or of a preset. */
export interface MappingConfig {
  readonly id: string;
  /** Where it stands, for messages: `hooks.mappings[3]`; of an enabled preset, `hooks.gmail`. */
  readonly where: string;
  readonly match: {
    /** Without leading and trailing slashes; `undefined` or empty: any path. */
    readonly path: string | undefined;
    /** `undefined` or empty: any source. */
    readonly source: string | undefined;
  };
  readonly action: "wake" | "agent";
  readonly wakeMode: WakeMode;
  readonly name: string | undefined;
  readonly agentId: string | undefined;
  readonly sessionKey: string | undefined;
  readonly messageTemplate: string | undefined;
  readonly textTemplate: string | undefined;
  readonly forEach: string | undefined;
  readonly deliver: boolean;
  readonly allowUnsafeExternalContent: boolean;
  readonly channel: string;
  readonly to: string | undefined;
  readonly model: string | undefined;
  readonly thinking: string | undefined;
  readonly timeoutSeconds: number | undefined;
  readonly maxBodyBytes: number | undefined;
  /** What besides JSON the mapping takes. */
  readonly accept: readonly ("json" | "form" | "text")[];
  readonly interrupted: "rerun" | "hold" | undefined;
  readonly transform: { readonly module: string; readonly export: string | undefined } | undefined;
  /** The preset that knows its sender. */
  readonly preset: string | undefined;
  /** The preset's further settings, secrets resolved. */
  readonly settings: PresetSettings;
  /** How its sender proves who it is; `undefined`: by the hook token. All mappings of a path have the same. */
  readonly auth: AuthConfig | undefined;
  readonly handshakes: readonly Handshake[];
  /** Methods besides `POST` that carry events: `PUT`. */
  readonly methods: readonly string[];
  /** Senders whose events are filtered, without regard to case; `*` stands for any characters. */
  readonly ignoreSenders: readonly string[];
  /** Whether events of senders that the preset knows to be bots are filtered. */
  readonly ignoreBots: boolean;
  /** What the boundary names as the source. */
  readonly contentSource: string;
  /**
   * A templated session key under this literal prefix needs no further settings: set by built-in
   * presets, whose keys cannot leave their own name space.
   */
  readonly ownSessionPrefix: string | undefined;
}
