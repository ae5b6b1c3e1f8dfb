/** A gateway for configurations to be read against. */
import { NO_EXPOSURE } from "../../../src/core/exposure.ts";
import Type from "typebox";
import { ConfigError, type ConfigIssue } from "../../../src/config/errors.ts";
import type { HooksConfig } from "../../../src/config/hooks.ts";
import type { MappingConfig } from "../../../src/config/mapping/schema.ts";
import { DEFAULT_RETRY } from "../../../src/config/retry.ts";
import { readHooksConfig, type HooksContext } from "../../../src/config/read-hooks.ts";
import type { PresetPart } from "../../../src/config/preset.ts";
import type { AgentCatalog, AgentInfo } from "../../../src/core/host.ts";
import { definePreset, type PresetDefinition } from "../../../src/presets/define-preset.ts";
import { gmail } from "../../../src/presets/senders/google/gmail.ts";

/** A token that nothing has to be said about. */
export const GOOD_TOKEN = "b7e0c3f1a94d2268d5c0e17f3a8b6694";
export const GATEWAY_SECRET = "the-gateways-own-secret-f4a0c2";

/** What a mapping says of its runs when nothing is written. */
export const RUN_DEFAULTS = {
  events: [],
  when: undefined,
  coalesce: undefined,
  order: "strict",
  overlap: "queue",
  maxAgeMs: undefined,
  priority: "normal",
  concurrency: undefined,
  retry: DEFAULT_RETRY,
  fallback: undefined,
  budget: undefined,
  respond: { kind: "ordinary" },
  waitMs: undefined,
  mode: "run",
} satisfies Partial<MappingConfig>;

/** A secret of a sender that nothing has to be said about. */
export const GOOD_SECRET = "5c1d9e07ab42f86630e1b7d4a95f2c88";

type Definition = Pick<PresetDefinition, "name" | "title" | "auth"> & Partial<PresetDefinition>;

/** A preset of which only matters what the configuration has to know. */
export function presetOf(definition: Definition): PresetPart {
  return definePreset({
    documentation: "https://sender.example.com/webhooks",
    message: ({ event }) => `Something happened: ${event}`,
    samples: { one: { payload: {} } },
    setup: ["Paste {url} and {secret}."],
    ...definition,
  });
}

/** The presets of the gateway: one that signs, one with settings of its own, one whose sender delivers the key. */
export const PRESETS: ReadonlyMap<string, PresetPart> = new Map(
  [
    gmail,
    presetOf({
      name: "github",
      title: "GitHub",
      auth: { scheme: "signature", from: "header:x-hub-signature-256", prefix: "sha256=" },
      secret: { label: "Secret", madeBy: "owner", known: ["github-documentation-secret"] },
      event: "header:x-github-event",
      mapping: { accept: ["json", "form"], maxBodyBytes: 26_214_400 },
    }),
    presetOf({
      name: "meta",
      title: "Meta",
      auth: ({ legacy }) =>
        legacy === true
          ? { scheme: "signature", from: "header:x-hub-signature", algorithm: "hmac-sha1" }
          : { scheme: "signature", from: "header:x-hub-signature-256" },
      secret: { label: "App secret", madeBy: "sender", minLength: 32 },
      settings: Type.Object({
        verifyToken: Type.String({ minLength: 8, description: "The Verify token that you made up." }),
        legacy: Type.Optional(Type.Boolean({ description: "Whether the old header is read." })),
      }),
      secretSettings: ["verifyToken"],
    }),
    presetOf({
      name: "notion",
      title: "Notion",
      auth: { scheme: "signature", from: "header:x-notion-signature", prefix: "sha256=" },
      secret: { label: "Verification token", madeBy: "sender", required: false },
      handshakes: [
        {
          name: "verification token",
          verified: false,
          when: { "body:verification_token": true },
          onlyKeys: ["verification_token"],
          reply: { status: 200 },
          effect: { keyFrom: "body:verification_token" },
        },
      ],
      methods: ["PUT"],
    }),
  ].map((preset) => [preset.name, preset]),
);

/** The agents `main` (default) and `Ops`; ids are found whatever their case. */
export function catalog(models?: Readonly<Record<string, readonly string[]>>): AgentCatalog {
  const agents: readonly AgentInfo[] = [
    { id: "main", isDefault: true },
    { id: "Ops", isDefault: false },
  ];
  return {
    list: () => agents,
    resolve: (id) => agents.find((agent) => agent.id.toLowerCase() === id?.toLowerCase()) ?? agents[0]!,
    allowedModels: (id) => models?.[id],
    exposure: () => NO_EXPOSURE,
  };
}

export function context(changes: Partial<HooksContext> = {}): HooksContext {
  return {
    configDir: "/etc/gateway",
    gateway: { secrets: [GATEWAY_SECRET], loopbackOnly: true, trustedProxies: [] },
    agents: catalog(),
    channels: [{ id: "console" }, { id: "telegram" }],
    presets: PRESETS,
    env: {},
    ...changes,
  };
}

/** A gateway that others than this machine reach. */
export const exposed = (): HooksContext =>
  context({ gateway: { secrets: [GATEWAY_SECRET], loopbackOnly: false, trustedProxies: [] } });

/** Reads a block that is on and has a good token. */
export function read(
  block: object,
  around: HooksContext = context(),
): { config: HooksConfig; warnings: readonly string[] } {
  return readHooksConfig({ enabled: true, token: GOOD_TOKEN, ...block }, around);
}

/** The lines with which a block is refused; none when it is not. */
export function refusals(raw: unknown, around: HooksContext = context()): string[] {
  const issues = issuesOf(raw, around);
  return issues.map(({ path, message }) => `${path}: ${message}`);
}

/** Like {@link refusals} for a block that is on and has a good token. */
export const refusalsOf = (block: object, around?: HooksContext): string[] =>
  refusals({ enabled: true, token: GOOD_TOKEN, ...block }, around);

function issuesOf(raw: unknown, around: HooksContext): readonly ConfigIssue[] {
  try {
    readHooksConfig(raw, around);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.issues;
    throw error;
  }
}
