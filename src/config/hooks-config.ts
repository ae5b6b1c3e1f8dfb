/** The `hooks` block after validation: every default filled in, every secret resolved. */
import type { RetentionConfig } from "./retention.ts";
import type { CoalesceMode, WakeMode } from "../core/delivery.ts";
import type { AuthConfig } from "./auth/schema.ts";
import type { Handshake } from "./handshake.ts";

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
  readonly transforms: TransformsConfig;
  readonly gmail: GmailConfig;
  /** Of runs on the two fixed routes, and of mappings that say nothing else. */
  readonly retry: RetryConfig;
  /** Of all runs together. */
  readonly budget: BudgetConfig | undefined;
  /** How long a caller who waits for the result is kept waiting. */
  readonly waitMs: number;
  /** Callers who wait at once; further ones are answered at once. */
  readonly maxWaiting: number;
  /** Where results may be sent at a caller's wish; `undefined`: nowhere. */
  readonly callbacks: CallbacksConfig | undefined;
  /** Where notices go besides the main session. */
  readonly notices: { readonly channel: string; readonly to: string | undefined } | undefined;
  readonly retention: RetentionConfig;
  /** Names of enabled presets, in order. */
  readonly presets: readonly string[];
  /** The own ones in their order, then one for each enabled preset. */
  readonly mappings: readonly MappingConfig[];
}

/** Where transforms run, and what one process of them may use up. */
export interface TransformsConfig {
  /** `none`: in the gateway's own process, and then nothing of the rest counts. */
  readonly isolation: "process" | "none";
  /** Of one call. */
  readonly timeoutMs: number;
  /** Processes that are kept warm. */
  readonly workers: number;
  readonly maxMemoryBytes: number;
  /** Calls after which a process is replaced. */
  readonly maxCalls: number;
  /** Calls of one module that wait, over which the answer is 503. */
  readonly maxWaiting: number;
  /** Of a result as JSON. */
  readonly maxResultBytes: number;
}

/** How often and how long something is tried again that failed and may succeed later. */
export interface RetryPolicy {
  /** Tries in all, at least 1. */
  readonly attempts: number;
  /** Upper bound of the first delay; it doubles, and the delay is drawn from 0 up to it (full jitter). */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
}

export interface RetryConfig {
  readonly runs: RetryPolicy;
  /** Of replies to a channel, and of callbacks. */
  readonly deliveries: RetryPolicy;
}

/** Runs that may begin in any 60 minutes and in any 24 hours; over it the mapping is paused. */
export interface BudgetConfig {
  readonly perHour: number | undefined;
  readonly perDay: number | undefined;
}

export interface CallbacksConfig {
  /** Host names in lower case; `*.example.com` stands for every name below it. */
  readonly hosts: readonly string[];
  /** Signs by Standard Webhooks: `whsec_` and base64, or base64. */
  readonly secret: string;
}

/** What a mapping does with its answer. */
export type RespondConfig =
  | { readonly kind: "ordinary" }
  /** The answer waits for the result. */
  | { readonly kind: "result" }
  | {
      readonly kind: "content";
      readonly status: number;
      /** Names in lower case. */
      readonly headers: Readonly<Record<string, string>>;
      /** A template; `undefined`: the ordinary body. */
      readonly body: string | undefined;
    };

export interface CoalesceConfig {
  /** A template. */
  readonly key: string;
  readonly windowMs: number;
  readonly maxWaitMs: number;
  readonly mode: CoalesceMode;
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

export type Priority = "high" | "normal" | "low";

/** Further keys of `hooks.<preset>` besides `secret`, `auth` and the mapping's own, by name. */
export type PresetSettings = Readonly<Record<string, unknown>>;

/** One mapping, own or of a preset. */
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
  readonly ignoreActors: readonly string[];
  /** Whether events of senders that the preset knows to be bots are filtered. */
  readonly ignoreBots: boolean;
  /** Events that are taken, by the preset's name for them; `*` stands for any characters. Empty: all. */
  readonly events: readonly string[];
  /** A condition in CEL over `payload`, `headers`, `query`, `event` and `sender`. */
  readonly when: string | undefined;
  readonly coalesce: CoalesceConfig | undefined;
  /** `none`: its runs wait for no other run of their session. */
  readonly order: "strict" | "none";
  /** What happens to a call while a run of the mapping (and session, when it names one) is open. */
  readonly overlap: "queue" | "skip" | "latest";
  /** A run that has not begun after that long is dropped. */
  readonly maxAgeMs: number | undefined;
  /** Which of the runs that wait go first. */
  readonly priority: Priority;
  /** Runs of the mapping at once; `undefined`: as many as `hooks.concurrency`. */
  readonly concurrency: number | undefined;
  readonly retry: RetryConfig;
  readonly fallback: { readonly channel: string; readonly to: string | undefined } | undefined;
  readonly budget: BudgetConfig | undefined;
  readonly respond: RespondConfig;
  /** How long a caller waits for the result; `undefined`: `hooks.waitSeconds`. */
  readonly waitMs: number | undefined;
  /** `deliver`: the rendered text goes to the channel, and no agent is asked. */
  readonly mode: "run" | "deliver";
  /** What the boundary names as the source. */
  readonly contentSource: string;
  /**
   * A templated session key under this literal prefix needs no further settings: set by built-in
   * presets, whose keys cannot leave their own name space.
   */
  readonly ownSessionPrefix: string | undefined;
}
