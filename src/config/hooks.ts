/**
 * The `hooks` block as it is written: the only source of its keys, defaults, bounds and meaning.
 * The validator, the types, `plugin.json` and `docs/configuration.md` all come from here.
 */
import Type, { type Static } from "typebox";
import { GmailSchema } from "./gmail.ts";
import { MappingSchema } from "./mapping/schema.ts";
import { OPERATION_KEYS } from "./operation-schema.ts";
import type { PresetBlockInput } from "./preset.ts";
import type { SchemaIssue } from "./schema-check.ts";
import {
  BODY_BYTES,
  BUDGET_BYTES,
  DAY_SECONDS,
  duration,
  flag,
  RUN_SECONDS,
  seconds,
  secrets,
  size,
  text,
  texts,
  TTL_SECONDS,
  whole,
  withDefault,
} from "./schema-parts.ts";
import { TransformsSchema } from "./transforms.ts";

/** `hooks.lockout`. */
export const LockoutSchema = Type.Object(
  {
    failures: withDefault(
      whole({ minimum: 1, maximum: 100_000 }, "Failed attempts of one address within the window that lock it."),
      20,
    ),
    windowSeconds: withDefault(seconds({ minimum: 1, maximum: DAY_SECONDS }, "Length of the window."), 60),
    lockSeconds: withDefault(
      seconds({ minimum: 1, maximum: DAY_SECONDS }, "How long a lock lasts; further tries do not extend it."),
      60,
    ),
    maxClients: withDefault(
      whole({ minimum: 1, maximum: 1_000_000 }, "Addresses remembered at once; the memory is bounded by it."),
      10_000,
    ),
  },
  {
    additionalProperties: false,
    description:
      "When an address that keeps sending wrong tokens is answered 429. The right token is never locked out.",
  },
);

/** The schema of the whole block (specification 2.1, and this product's own keys). */
export const HooksSchema = Type.Object(
  {
    enabled: withDefault(flag("Turns the webhook endpoint on."), false),
    token: Type.Optional(
      secrets(
        "The secret that every request presents; required when `enabled`. Of a list any is accepted, so that tokens can be rotated. At least 24 characters where the gateway listens beyond loopback, and none of the gateway's own secrets.",
      ),
    ),
    tokenHeader: withDefault(
      text({
        description: "The header that may carry the token besides `Authorization: Bearer`.",
        title: "the name of a header",
        maxLength: 100,
        pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
      }),
      "x-service-token",
    ),
    path: withDefault(
      text({ description: "Path below which all hooks are reached; not `/`. Compared as sent, so without escapes." }),
      "/hooks",
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
    ...OPERATION_KEYS,
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
    transformsDir: withDefault(
      text({
        description:
          "Folder of transform modules, resolved against `<configuration folder>/hooks/transforms`, which it cannot leave.",
      }),
      ".",
    ),
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
/** A secret as it may be written. */
export type SecretInput = NonNullable<HooksInput["token"]>;

/** What of a block the schema has nothing against, so that the rest can be judged all the same. */
export interface ValidSubset {
  /** Without the keys that are wrong somewhere, and without `mappings`. */
  readonly input: Omit<HooksInput, "mappings">;
  /** In their places; one that is wrong somewhere is a hole. */
  readonly mappings: readonly (MappingInput | undefined)[];
  /** True when the schema has nothing against any of the keys; only then a rule about them says the truth. */
  isValid(...keys: readonly string[]): boolean;
  /** `hooks.<preset>`, if it is there and sound. */
  block(preset: string): PresetBlockInput | undefined;
}

/** Takes out of a block what the schema refuses; of the mappings, only the ones that are wrong. */
export function validSubset(raw: object, issues: readonly SchemaIssue[]): ValidSubset {
  const broken = new Set<string>();
  const brokenMappings = new Set<number>();
  for (const { keys } of issues) {
    const [key, at] = keys;
    broken.add(String(key));
    if (key === "mappings" && typeof at === "number") brokenMappings.add(at);
  }
  const whole = raw as HooksInput;
  const entries = Object.entries(whole).filter(([key]) => !broken.has(key) && key !== "mappings");
  const isListBroken = issues.some(({ keys }) => keys.length === 1 && keys[0] === "mappings");
  const mappings = isListBroken ? [] : (whole.mappings ?? []);
  const input = Object.fromEntries(entries);
  return {
    input,
    mappings: mappings.map((mapping, at) => (brokenMappings.has(at) ? undefined : mapping)),
    block: (preset) =>
      isPresetKey(preset) && Object.hasOwn(input, preset) ? (input[preset] as PresetBlockInput) : undefined,
    isValid: (...keys) => keys.every((key) => !broken.has(key)),
  };
}

/** True for a name under which a preset's settings can stand; the block's own keys keep their meaning. */
export function isPresetKey(name: string): boolean {
  return !Object.hasOwn(HooksSchema.properties, name);
}
