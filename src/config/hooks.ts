/**
 * The `hooks` block as it is written: the only source of its keys, defaults, bounds and meaning.
 * The validator, the types, `plugin.json` and `docs/configuration.md` all come from here.
 */
import Type, { type Static } from "typebox";
import { DEFAULT_PREFIX } from "./hook-prefix.ts";
import { type GmailConfig, GmailSchema } from "./gmail.ts";
import { type MappingConfig, MappingSchema } from "./mapping/schema.ts";
import { type BudgetConfig, BudgetSchema } from "./budget.ts";
import { type CallbacksConfig, CallbacksSchema } from "./callbacks.ts";
import { type ChannelChoice, channelTarget } from "./channel-target.ts";
import { type LockoutConfig, LockoutSchema } from "./lockout.ts";
import { type RetentionConfig, RetentionSchema } from "./retention.ts";
import { type RetryConfig, RetrySchema } from "./retry.ts";
import {
  BODY_BYTES,
  BUDGET_BYTES,
  duration,
  flag,
  RUN_SECONDS,
  seconds,
  secrets,
  size,
  text,
  texts,
  TTL_SECONDS,
  WAIT_SECONDS,
  whole,
  withDefault,
} from "./schema-parts.ts";
import { TOKEN_HEADER } from "./token.ts";
import { TRANSFORMS_DIR, type TransformsConfig, TransformsSchema } from "./transforms.ts";

/** The schema of the whole block (specification 2.1, and this product's own keys). */
export const HooksSchema = Type.Object(
  {
    enabled: withDefault(flag("Turns the webhook endpoint on."), false),
    token: Type.Optional(
      secrets(
        "The secret that every request presents; required when `enabled`. Of a list any is accepted, so that tokens can be rotated. At least 24 characters where the gateway listens beyond loopback, and none of the gateway's own secrets.",
      ),
    ),
    tokenHeader: TOKEN_HEADER,
    path: withDefault(
      text({ description: "Path below which all hooks are reached; not `/`. Compared as sent, so without escapes." }),
      DEFAULT_PREFIX,
    ),
    publicUrl: Type.Optional(
      text({
        description:
          "Where the outside reaches the gateway, for senders that sign the URL: `https://gateway.example.com`. `hooks.path` follows it.",
        title: "an https URL",
      }),
    ),
    maxBodyBytes: withDefault(size(BODY_BYTES, "Largest request body, over which the answer is 413."), 262_144),
    maxUnverifiedBytes: withDefault(
      size(
        BUDGET_BYTES,
        "Bytes that requests of senders may hold together before they are verified, counting those above `maxBodyBytes`; over it the answer is 503.",
      ),
      67_108_864,
    ),
    bodyTimeoutSeconds: withDefault(
      seconds({ minimum: 0.1, maximum: 600 }, "Within that time a body must have arrived, or the answer is 408."),
      30,
    ),
    maxDepth: withDefault(
      whole({ minimum: 1, maximum: 1_024 }, "Levels of nesting of a JSON body, over which the answer is 400."),
      64,
    ),
    maxInFlight: withDefault(
      whole({ minimum: 1, maximum: 65_536 }, "Requests under way at once, over which the answer is 503."),
      512,
    ),
    concurrency: withDefault(whole({ minimum: 1, maximum: 256 }, "Agent runs at once."), 4),
    maxQueuedRuns: withDefault(
      whole({ minimum: 1, maximum: 10_000_000 }, "Accepted runs that are not finished, over which the answer is 503."),
      100_000,
    ),
    maxFanOut: withDefault(
      whole({ minimum: 1, maximum: 4_096 }, "Items of a mapping's `forEach`, over which the answer is 413."),
      200,
    ),
    idempotencyTtl: withDefault(
      duration(TTL_SECONDS, "How long a repeated idempotency key is answered with the first answer."),
      "24h",
    ),
    retry: Type.Optional(RetrySchema),
    budget: Type.Optional(BudgetSchema),
    waitSeconds: withDefault(
      seconds(
        WAIT_SECONDS,
        "How long a caller who asks for the result is kept waiting, after which the answer is 202.",
      ),
      25,
    ),
    maxWaiting: withDefault(
      whole({ minimum: 0, maximum: 10_000 }, "Callers who wait at once; further ones are answered 202 at once."),
      64,
    ),
    callbacks: Type.Optional(CallbacksSchema),
    notices: Type.Optional(
      channelTarget("Where notices go besides the main session: of an outage, of a budget that is used up."),
    ),
    retention: Type.Optional(RetentionSchema),
    lockout: Type.Optional(LockoutSchema),
    allowedAgentIds: Type.Optional(
      texts(10_000, {
        title: "a list of agent ids",
        description:
          "Agents that an explicit `agentId` may choose. Absent or with `*`: any. Empty: every explicit `agentId` is denied.",
      }),
    ),
    defaultSessionKey: Type.Optional(
      text({
        description: "Session of agent runs that are given none. Absent: each run gets a session of its own.",
      }),
    ),
    allowRequestSessionKey: withDefault(
      flag("Whether a payload may choose the session: `sessionKey` of `/agent`, templated keys of mappings."),
      false,
    ),
    allowedSessionKeyPrefixes: Type.Optional(
      texts(1_000, {
        title: "a list of prefixes",
        description:
          "What session keys from payloads and mappings must start with; case does not count. Absent or empty: no restriction.",
      }),
    ),
    interrupted: withDefault(
      Type.Enum(["rerun", "hold"], {
        description:
          "What becomes of a run that was under way when the process died: it is run again, and its prompt says so, or it is held for a person.",
      }),
      "rerun",
    ),
    defaultTimeoutSeconds: withDefault(
      seconds(RUN_SECONDS, "After that long a run that names no time is aborted."),
      600,
    ),
    transformsDir: TRANSFORMS_DIR,
    transforms: Type.Optional(TransformsSchema),
    presets: withDefault(
      texts(100, {
        title: "a list of preset names",
        description:
          "Senders to take calls from, after the own mappings: `github` at `<path>/github` and so on. What there is to say of one stands in `hooks.<preset>`.",
      }),
      [],
    ),
    mappings: withDefault(
      Type.Array(MappingSchema, {
        maxItems: 100_000,
        description: "What `POST <path>/<name>` does. The first entry that matches owns the request.",
      }),
      [],
    ),
    gmail: Type.Optional(GmailSchema),
    internal: Type.Optional(
      Type.Object(
        {},
        { description: "Event hooks inside a gateway: accepted as written, without effect on the HTTP endpoint." },
      ),
    ),
  },
  { additionalProperties: false, title: "an object of settings", description: "Webhooks that wake an agent." },
);

/** The block as it may be written. */
export type HooksInput = Static<typeof HooksSchema>;
/** A mapping as it may be written. */
export type MappingInput = Static<typeof MappingSchema>;

/** The block after validation: every default filled in, every secret resolved. */
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
  readonly notices: ChannelChoice | undefined;
  readonly retention: RetentionConfig;
  /** Names of enabled presets, in order. */
  readonly presets: readonly string[];
  /** The own ones in their order, then one for each enabled preset. */
  readonly mappings: readonly MappingConfig[];
}
