/**
 * The `hooks` block: its keys, defaults, bounds and descriptions.
 * The validator, the types, `plugin.json` and `docs/use/configuration.md` all come from here.
 */
import Type, { type Static } from "typebox";
import { DEFAULT_PREFIX } from "./hook-prefix.ts";
import { type GmailConfig, GmailSchema } from "./gmail.ts";
import { MAX_INSTRUCTIONS, type MappingConfig, MappingSchema } from "./mapping/schema.ts";
import { type BudgetConfig, BudgetSchema } from "./budget.ts";
import { type CallbacksConfig, CallbacksSchema } from "./callbacks.ts";
import { type ChainsConfig, ChainsSchema } from "./chains.ts";
import { type ChannelChoice, channelTarget } from "./channel-target.ts";
import { type LockoutConfig, LockoutSchema } from "./lockout.ts";
import { SendersSchema } from "./named-senders.ts";
import { type RepliesConfig, RepliesSchema } from "./replies.ts";
import { type RetentionConfig, RetentionSchema } from "./retention.ts";
import { type RetryConfig, RetrySchema } from "./retry.ts";
import {
  BODY_BYTES,
  BUDGET_BYTES,
  duration,
  PROBE_SECONDS,
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
import { ACCEPT_ALL_THREE, type ExposureRow } from "./rule-of-two.ts";
import { type StoreConfig, StoreSchema } from "./store.ts";
import { type SubscriptionConfig, SubscriptionsSchema } from "./subscriptions.ts";
import { TOKEN_HEADER } from "./token.ts";
import { TRANSFORMS_DIR, type TransformsConfig, TransformsSchema } from "./transforms.ts";
import { type WaitsConfig, WaitsSchema } from "./waits.ts";

/** The schema of the whole block (specification 2.1, and this product's own keys). */
export const HooksSchema = Type.Object(
  {
    enabled: withDefault(flag("Turns the webhook endpoint on."), false),
    token: Type.Optional(
      secrets(
        "The secret that every request presents; required when `enabled`. Of a list any is accepted, so that tokens can be rotated. At least 24 characters unless the gateway listens on loopback only, with neither `gateway.trustedProxies` nor `hooks.publicUrl`, and none of the gateway's own secrets.",
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
          "Public URL of the gateway, for senders that sign the URL: `https://gateway.example.com`. `hooks.path` follows it.",
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
      whole({ minimum: 1, maximum: 65_536 }, "Requests in progress at once, over which the answer is 503."),
      512,
    ),
    concurrency: withDefault(
      whole({ minimum: 1, maximum: 256 }, "Agent runs at once, of each gateway where there are several."),
      4,
    ),
    maxQueuedRuns: withDefault(
      whole({ minimum: 1, maximum: 10_000_000 }, "Accepted runs that are not finished, over which the answer is 503."),
      100_000,
    ),
    maxFanOut: withDefault(
      whole({ minimum: 1, maximum: 4_096 }, "Items of a mapping's `forEach`, over which the answer is 413."),
      200,
    ),
    probeEvery: Type.Optional(
      duration(
        PROBE_SECONDS,
        "How often a signed sample of each sender is sent to `publicUrl`, as far as its mapping and no further; the owner gets a notice when it does not arrive. Absent: never.",
      ),
    ),
    idempotencyTtl: withDefault(
      duration(TTL_SECONDS, "Time for which a repeated idempotency key gets the first answer."),
      "24h",
    ),
    retry: Type.Optional(RetrySchema),
    budget: Type.Optional(BudgetSchema),
    waitSeconds: withDefault(
      seconds(WAIT_SECONDS, "Longest wait of a caller who asks for the result, after which the answer is 202."),
      25,
    ),
    maxWaiting: withDefault(
      whole({ minimum: 0, maximum: 10_000 }, "Callers who wait at the same time; further ones get 202 immediately."),
      64,
    ),
    callbacks: Type.Optional(CallbacksSchema),
    replies: Type.Optional(RepliesSchema),
    chains: Type.Optional(ChainsSchema),
    waits: Type.Optional(WaitsSchema),
    notices: Type.Optional(
      channelTarget("Channel for notices besides the main session: of an outage, of a budget that is used up."),
    ),
    store: Type.Optional(StoreSchema),
    retention: Type.Optional(RetentionSchema),
    lockout: Type.Optional(LockoutSchema),
    allowedAgentIds: Type.Optional(
      texts(10_000, {
        title: "a list of agent ids",
        description:
          "Agents that an explicit `agentId` may choose. Absent or with `*`: any. Empty: every explicit `agentId` is denied.",
      }),
    ),
    requireAllowedAgent: withDefault(
      flag(
        "Makes `allowedAgentIds` govern calls that name no agent too: where the list lacks the default agent, they are answered 400.",
      ),
      false,
    ),
    defaultSessionKey: Type.Optional(
      text({
        description: "Session of agent runs that name none. Absent: each run gets a session of its own.",
      }),
    ),
    allowRequestSessionKey: withDefault(
      flag("Lets a payload choose the session: by `sessionKey` of `/agent` and by templated keys of mappings."),
      false,
    ),
    allowedSessionKeyPrefixes: Type.Optional(
      texts(1_000, {
        title: "a list of prefixes",
        description:
          "Prefixes, one of which session keys from payloads and mappings must start with; case does not count. Absent or empty: no restriction.",
      }),
    ),
    interrupted: withDefault(
      Type.Enum(["rerun", "hold"], {
        description:
          "Crash recovery of a run that was running when the process died. `rerun`: it runs again, and its prompt says so. `hold`: it waits for an operator.",
      }),
      "rerun",
    ),
    agentInstructions: Type.Optional(
      text({
        description:
          "Your own words to the agents that `/agent` starts, before the boundary and outside of it. Plain text without placeholders.",
        title: "text without placeholders",
        maxLength: MAX_INSTRUCTIONS,
      }),
    ),
    acceptAllThree: ACCEPT_ALL_THREE,
    defaultTimeoutSeconds: withDefault(
      seconds(RUN_SECONDS, "Time after which a run that sets no timeout of its own is aborted."),
      600,
    ),
    transformsDir: TRANSFORMS_DIR,
    transforms: Type.Optional(TransformsSchema),
    presets: withDefault(
      texts(100, {
        title: "a list of preset names",
        description:
          "Presets to enable, after the mappings: `github` at `<path>/github` and so on. `hooks.<preset>` has the settings of one.",
      }),
      [],
    ),
    senders: Type.Optional(SendersSchema),
    subscriptions: Type.Optional(SubscriptionsSchema),
    mappings: withDefault(
      Type.Array(MappingSchema, {
        maxItems: 100_000,
        description: "The effect of `POST <path>/<name>`. The first entry that matches owns the request.",
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
  /** Public URL of the gateway, without a trailing slash; `hooks.path` follows it. */
  readonly publicUrl: string | undefined;
  readonly maxBodyBytes: number;
  /** Bytes of all large requests of senders that are not yet verified, over which the answer is 503. */
  readonly maxUnverifiedBytes: number;
  readonly bodyTimeoutMs: number;
  /** Nesting bound of a JSON body. */
  readonly maxDepth: number;
  /** Requests in progress at once, over which the answer is 503. */
  readonly maxInFlight: number;
  /** Agent runs at once. */
  readonly concurrency: number;
  /** Open runs, over which the answer is 503. */
  readonly maxQueuedRuns: number;
  /** Items of a `forEach`, over which the answer is 413. */
  readonly maxFanOut: number;
  readonly idempotencyTtlMs: number;
  /** `undefined`: the public URL is not probed. */
  readonly probeEveryMs?: number | undefined;
  readonly lockout: LockoutConfig;
  /** `undefined`: any agent. */
  readonly allowedAgentIds: ReadonlySet<string> | undefined;
  readonly requireAllowedAgent: boolean;
  readonly defaultSessionKey: string | undefined;
  readonly allowRequestSessionKey: boolean;
  /** Lower case; empty: no restriction. */
  readonly allowedSessionKeyPrefixes: readonly string[];
  readonly interrupted: "rerun" | "hold";
  /** The owner's words to the agents of direct calls, outside the boundary. */
  readonly agentInstructions?: string | undefined;
  /** Why direct calls may have all three of the Rule of Two; absent: none may. */
  readonly acceptAllThree?: string | undefined;
  /** What runs can reach, by mapping and level; empty when hooks are off. */
  readonly exposures: readonly ExposureRow[];
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
  /** The longest wait of a caller for the result. */
  readonly waitMs: number;
  /** Callers who wait at the same time; further ones are answered immediately. */
  readonly maxWaiting: number;
  /** Hosts of callback URLs; `undefined`: callers may name none. */
  readonly callbacks: CallbacksConfig | undefined;
  /** What replies may lead to. */
  readonly replies: RepliesConfig;
  /** Bounds of what its own runs cause. */
  readonly chains: ChainsConfig;
  /** Bounds of sessions that wait for events. */
  readonly waits: WaitsConfig;
  /** The channel of notices besides the main session. */
  readonly notices: ChannelChoice | undefined;
  /** `undefined`: the SQLite file of the state folder. */
  readonly store?: StoreConfig | undefined;
  readonly retention: RetentionConfig;
  /** Names of enabled presets, in order. */
  readonly presets: readonly string[];
  /** Events of MCP servers that this gateway subscribes to. */
  readonly subscriptions: readonly SubscriptionConfig[];
  /** The reason why every call is answered 503: a plugin that may deny calls is missing. Absent: calls are taken. */
  readonly closed?: string | undefined;
  /** The own ones in their order, then one for each enabled preset and one for each named sender. */
  readonly mappings: readonly MappingConfig[];
}
