import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import JSON5 from "json5";
import { describe, expect, it } from "vitest";
import { AuthSchema } from "../../../src/config/auth/schema.ts";
import { ConfigError } from "../../../src/config/errors.ts";
import { type HooksConfig, HooksSchema } from "../../../src/config/hooks.ts";
import { readHooksConfig } from "../../../src/config/read-hooks.ts";
import {
  context,
  GATEWAY_SECRET,
  GOOD_SECRET,
  GOOD_TOKEN,
  PRESETS,
  read,
  refusals,
  refusalsOf,
  RUN_DEFAULTS,
} from "./hooks-context.ts";

const DEFAULTS: HooksConfig = {
  enabled: false,
  tokens: [],
  tokenHeader: "x-service-token",
  path: "/hooks",
  publicUrl: undefined,
  maxBodyBytes: 262_144,
  maxUnverifiedBytes: 67_108_864,
  bodyTimeoutMs: 30_000,
  maxDepth: 64,
  maxInFlight: 512,
  concurrency: 4,
  maxQueuedRuns: 100_000,
  maxFanOut: 200,
  idempotencyTtlMs: 86_400_000,
  subscriptions: [],
  lockout: { failures: 20, windowMs: 60_000, lockMs: 60_000, maxClients: 10_000 },
  allowedAgentIds: undefined,
  requireAllowedAgent: false,
  defaultSessionKey: undefined,
  allowRequestSessionKey: false,
  allowedSessionKeyPrefixes: [],
  interrupted: "rerun",
  defaultTimeoutMs: 600_000,
  transformsDir: "/etc/gateway/hooks/transforms",
  transforms: {
    isolation: "process",
    timeoutMs: 2_000,
    workers: 2,
    maxMemoryBytes: 268_435_456,
    maxCalls: 10_000,
    maxWaiting: 256,
    maxResultBytes: 1_048_576,
  },
  gmail: { model: undefined, thinking: undefined, allowUnsafeExternalContent: undefined, maxBytes: 20_000 },
  retry: {
    runs: { attempts: 3, firstDelayMs: 30_000, maxDelayMs: 900_000 },
    deliveries: { attempts: 6, firstDelayMs: 2_000, maxDelayMs: 60_000 },
  },
  budget: undefined,
  waitMs: 25_000,
  maxWaiting: 64,
  callbacks: undefined,
  replies: { links: [] },
  exposures: [],
  waits: { max: 1_000, maxPerSession: 20, maxDays: 90 },
  chains: { maxDepth: 3, maxDeliveries: 50 },
  notices: undefined,
  retention: { deliveriesMs: 2_592_000_000, payloadsMs: 2_592_000_000, maxBytes: undefined },
  presets: [],
  mappings: [],
};

describe("readHooksConfig", () => {
  it("spec 1: hooks are off unless hooks.enabled is true", () => {
    expect(readHooksConfig(undefined, context())).toEqual({ config: DEFAULTS, warnings: [] });
    expect(readHooksConfig({}, context()).config.enabled).toBe(false);
    const { exposures, ...config } = read({}).config;
    expect({ ...config, exposures: [] }).toEqual({ ...DEFAULTS, enabled: true, tokens: [GOOD_TOKEN] });
    expect(exposures.map(({ route }) => route)).toEqual(["agent", "wake"]);
  });

  it("takes a key that is there without a value as absent", () => {
    expect(readHooksConfig({ path: undefined, mappings: undefined }, context()).config).toEqual(DEFAULTS);
  });

  it.each<[string, unknown, Partial<HooksConfig>]>([
    ["tokenHeader", "X-Hook-Token", { tokenHeader: "x-hook-token" }],
    ["path", "in/", { path: "/in" }],
    ["maxBodyBytes", 1_000, { maxBodyBytes: 1_000 }],
    ["maxBodyBytes", "256kb", { maxBodyBytes: 262_144 }],
    ["maxUnverifiedBytes", "1gb", { maxUnverifiedBytes: 1_073_741_824 }],
    ["maxBodyBytes", "1.5 MB", { maxBodyBytes: 1_572_864 }],
    ["maxBodyBytes", "512", { maxBodyBytes: 512 }],
    ["maxBodyBytes", "512 b", { maxBodyBytes: 512 }],
    ["maxBodyBytes", "1b", { maxBodyBytes: 1 }],
    ["maxBodyBytes", "64mb", { maxBodyBytes: 67_108_864 }],
    ["idempotencyTtl", "1s", { idempotencyTtlMs: 1_000 }],
    ["idempotencyTtl", "365d", { idempotencyTtlMs: 31_536_000_000 }],
    ["bodyTimeoutSeconds", 0.25, { bodyTimeoutMs: 250 }],
    ["maxDepth", 8, { maxDepth: 8 }],
    ["maxInFlight", 2, { maxInFlight: 2 }],
    ["concurrency", 9, { concurrency: 9 }],
    ["maxQueuedRuns", 5, { maxQueuedRuns: 5 }],
    ["maxFanOut", 7, { maxFanOut: 7 }],
    ["budget", { perHour: 5 }, { budget: { perHour: 5, perDay: undefined } }],
    ["waitSeconds", 0.5, { waitMs: 500 }],
    ["maxWaiting", 0, { maxWaiting: 0 }],
    ["notices", { channel: " telegram " }, { notices: { channel: "telegram", to: undefined } }],
    ["notices", { channel: "telegram", to: " 7 " }, { notices: { channel: "telegram", to: "7" } }],
    [
      "retry",
      { attempts: 1, delivery: { maxBackoffSeconds: 120 } },
      {
        retry: {
          runs: { ...DEFAULTS.retry.runs, attempts: 1 },
          deliveries: { ...DEFAULTS.retry.deliveries, maxDelayMs: 120_000 },
        },
      },
    ],
    ["idempotencyTtl", 90, { idempotencyTtlMs: 90_000 }],
    ["idempotencyTtl", "1.5 h", { idempotencyTtlMs: 5_400_000 }],
    ["idempotencyTtl", "7d", { idempotencyTtlMs: 604_800_000 }],
    ["idempotencyTtl", "2w", { idempotencyTtlMs: 1_209_600_000 }],
    ["idempotencyTtl", "1500ms", { idempotencyTtlMs: 1_500 }],
    ["idempotencyTtl", "30m", { idempotencyTtlMs: 1_800_000 }],
    ["lockout", { failures: 3 }, { lockout: { ...DEFAULTS.lockout, failures: 3 } }],
    [
      "lockout",
      { windowSeconds: 1.5, lockSeconds: 2, maxClients: 4 },
      { lockout: { failures: 20, windowMs: 1_500, lockMs: 2_000, maxClients: 4 } },
    ],
    ["defaultSessionKey", "hook:x", { defaultSessionKey: "hook:x" }],
    ["allowRequestSessionKey", true, { allowRequestSessionKey: true }],
    ["interrupted", "hold", { interrupted: "hold" }],
    ["defaultTimeoutSeconds", 1.5, { defaultTimeoutMs: 1_500 }],
    ["presets", [" gmail", "github", "gmail"], { presets: ["gmail", "github"] }],
    [
      "gmail",
      { model: " fast ", thinking: "low", allowUnsafeExternalContent: true, maxBytes: 5 },
      {
        gmail: { model: "fast", thinking: "low", allowUnsafeExternalContent: true, maxBytes: 5 },
      },
    ],
  ])("reads hooks.%s: %j", (key, value, expected) => {
    expect(readHooksConfig({ [key]: value }, context()).config).toEqual({ ...DEFAULTS, ...expected });
  });

  it.each([
    ["maxBodyBytes", "0", "must be between 1 and 67108864 bytes"],
    ["maxBodyBytes", "65mb", "must be between 1 and 67108864 bytes"],
    ["maxBodyBytes", `${"9".repeat(400)}gb`, "must be between 1 and 67108864 bytes"],
    ["idempotencyTtl", "999ms", "must be between 1 and 31536000 seconds"],
    ["idempotencyTtl", "53w", "must be between 1 and 31536000 seconds"],
    ["idempotencyTtl", `${"9".repeat(400)}d`, "must be between 1 and 31536000 seconds"],
  ])("refuses hooks.%s: %j, which is well formed and out of bounds", (key, value, message) => {
    expect(refusalsOf({ [key]: value })).toEqual([`hooks.${key}: ${message}`]);
  });

  it("refuses a mapping's body limit that is out of bounds", () => {
    const mappings = [{ messageTemplate: "m", maxBodyBytes: "1gb" }];
    expect(refusalsOf({ mappings })).toEqual(["hooks.mappings[0].maxBodyBytes: must be between 1 and 67108864 bytes"]);
  });

  it("spec 2.1: an omitted hooks.allowedAgentIds or one with * allows any agent", () => {
    expect(read({ allowedAgentIds: ["*"] }).config.allowedAgentIds).toBeUndefined();
    expect(read({ allowedAgentIds: ["main", " * "] }).config.allowedAgentIds).toBeUndefined();
  });

  it("spec 2.1: hooks.allowedAgentIds of [] denies all explicit agentId routing", () => {
    expect(read({ allowedAgentIds: [] }).config.allowedAgentIds).toEqual(new Set());
    expect(read({ allowedAgentIds: ["", " "] }).config.allowedAgentIds).toEqual(new Set());
  });

  it("reads hooks.allowedAgentIds as the gateway writes the ids, and warns of one it does not know", () => {
    const { config, warnings } = read({ allowedAgentIds: [" ops ", "OPS", "", "nobody"] });
    expect(config.allowedAgentIds).toEqual(new Set(["Ops", "nobody"]));
    expect(warnings).toEqual(['hooks.allowedAgentIds[3]: no agent is called "nobody"']);
  });

  it.each([
    ["custom", "/etc/gateway/hooks/transforms/custom"],
    ["./a/../b/", "/etc/gateway/hooks/transforms/b"],
    ["/etc/gateway/hooks/transforms/x", "/etc/gateway/hooks/transforms/x"],
    [".", "/etc/gateway/hooks/transforms"],
    [" ", "/etc/gateway/hooks/transforms"],
    ["..x", "/etc/gateway/hooks/transforms/..x"],
  ])("spec 2.1: hooks.transformsDir %j is %s", (transformsDir, folder) => {
    expect(read({ transformsDir }).config.transformsDir).toBe(folder);
  });

  it.each([
    "..",
    "../transforms-of-others",
    "/etc/gateway/hooks/transforms2",
    "/",
    "a/../../b",
    "~/transforms",
    "a\0b",
  ])("spec 2.1: hooks.transformsDir %j must stay within the transforms root", (transformsDir) => {
    expect(refusalsOf({ transformsDir })).toEqual([
      "hooks.transformsDir: must be a folder within /etc/gateway/hooks/transforms; write it relative to that folder",
    ]);
  });

  it("fills in what a mapping leaves out", () => {
    expect(read({ mappings: [{ messageTemplate: " m " }] }).config.mappings).toEqual([
      {
        id: "mapping-1",
        where: "hooks.mappings[0]",
        match: { path: undefined, source: undefined },
        action: "agent",
        wakeMode: "now",
        name: undefined,
        agentId: undefined,
        sessionKey: undefined,
        messageTemplate: " m ",
        textTemplate: undefined,
        forEach: undefined,
        deliver: true,
        allowUnsafeExternalContent: false,
        channel: "last",
        to: undefined,
        model: undefined,
        thinking: undefined,
        timeoutSeconds: undefined,
        maxBodyBytes: undefined,
        accept: ["json"],
        interrupted: undefined,
        transform: undefined,
        preset: undefined,
        settings: {},
        auth: undefined,
        handshakes: [],
        methods: [],
        ignoreActors: [],
        ignoreBots: true,
        ...RUN_DEFAULTS,
        contentSource: "Webhook",
        ownSessionPrefix: undefined,
      },
    ]);
  });

  it("reads every field of a mapping", () => {
    const written = {
      id: " n ",
      match: { path: " //github/push// ", source: " gh " },
      action: "agent",
      wakeMode: "next-heartbeat",
      name: " {{n}} ",
      agentId: " Ops ",
      sessionKey: " hook:x ",
      sessionMode: "isolated",
      messageTemplate: "m",
      textTemplate: "t",
      forEach: "items",
      deliver: false,
      allowUnsafeExternalContent: true,
      channel: " telegram ",
      to: " {{to}} ",
      model: " fast ",
      thinking: " low ",
      timeoutSeconds: 2.5,
      maxBodyBytes: "1kb",
      accept: ["form", "text", "form"],
      interrupted: "hold",
      transform: { module: " a.js ", export: " run " },
    };
    expect(read({ mappings: [written] }).config.mappings).toEqual([
      {
        id: "n",
        where: "hooks.mappings[0]",
        match: { path: "github/push", source: "gh" },
        action: "agent",
        wakeMode: "next-heartbeat",
        name: "{{n}}",
        agentId: "Ops",
        sessionKey: "hook:x",
        messageTemplate: "m",
        textTemplate: "t",
        forEach: "items",
        deliver: false,
        allowUnsafeExternalContent: true,
        channel: "telegram",
        to: "{{to}}",
        model: "fast",
        thinking: "low",
        timeoutSeconds: 2.5,
        maxBodyBytes: 1_024,
        accept: ["form", "text"],
        interrupted: "hold",
        transform: { module: "a.js", export: "run" },
        preset: undefined,
        settings: {},
        auth: undefined,
        handshakes: [],
        methods: [],
        ignoreActors: [],
        ignoreBots: true,
        ...RUN_DEFAULTS,
        contentSource: "Webhook",
        ownSessionPrefix: undefined,
      },
    ]);
  });

  it("takes a blank field of a mapping as absent, and `/` as any path", () => {
    const blank = {
      id: " ",
      match: { path: "/", source: " " },
      name: "",
      agentId: " ",
      sessionKey: "",
      to: " ",
      model: "",
    };
    const [mapping] = read({ mappings: [{ ...blank, messageTemplate: "m" }] }).config.mappings;
    expect(mapping).toMatchObject({ id: "mapping-1", match: { path: undefined, source: undefined }, name: undefined });
    expect(mapping).toMatchObject({ agentId: undefined, sessionKey: undefined, to: undefined, model: undefined });
  });

  it("numbers mappings from 1, however many before have an id", () => {
    const mappings = ["a", "b", "c"].map((path) => ({ match: { path }, messageTemplate: "m" }));
    const { config } = read({ mappings: [{ ...mappings[0], id: "x" }, mappings[1], mappings[2]] });
    expect(config.mappings.map(({ id }) => id)).toEqual(["x", "mapping-2", "mapping-3"]);
  });

  it("names everything that is wrong at once, whether one key or several show it", () => {
    const block = {
      tokn: "x",
      token: "changeme",
      path: "//",
      maxDepth: "deep",
      allowedSessionKeyPrefixes: ["ci:"],
      mappings: [
        { action: "wak" },
        { messageTemplate: "m", channel: "fax" },
        {},
        { messageTemplate: "m", id: "mapping-2" },
      ],
    };
    expect(refusalsOf(block)).toEqual([
      'hooks.tokn: unknown key; did you mean "token"?',
      'hooks.maxDepth: "deep" is not a whole number',
      'hooks.mappings[0].action: "wak" is not one of wake, agent',
      "hooks.token: is the token of a published example; make one with: openssl rand -hex 24",
      'hooks.path: must not be "/"; write for example "/hooks"',
      "hooks.mappings[2]: the action agent needs messageTemplate or transform",
      'hooks.mappings[3].id: "mapping-2" is also the id of hooks.mappings[1]; give it another',
      'hooks.allowedSessionKeyPrefixes: must include "hook:" when hooks.defaultSessionKey is not set, since generated keys begin with it',
      'hooks.mappings[1].channel: "fax" is not a channel of this gateway; known are last, console, telegram',
    ]);
  });

  it("distinguishes a wrong entry of another list from a wrong mapping of the same number", () => {
    expect(refusalsOf({ presets: [1], mappings: [{}] })).toEqual([
      "hooks.presets[0]: 1 is not a string",
      "hooks.mappings[0]: the action agent needs messageTemplate or transform",
    ]);
  });

  it("throws a ConfigError whose message is those lines", () => {
    expect(() => readHooksConfig({ mappings: [{}, {}, {}, { action: "wak" }] }, context())).toThrow(ConfigError);
    expect(() => readHooksConfig({ mappings: [{ messageTemplate: "m", action: "wak" }] }, context())).toThrow(
      /^hooks\.mappings\[0\]\.action: "wak" is not one of wake, agent$/,
    );
  });

  it.each([null, 5, "on", true, []])("refuses a block that is %j", (raw) => {
    const shown = Array.isArray(raw) ? "a list" : JSON.stringify(raw);
    expect(refusals(raw)).toEqual([`hooks: ${shown} is not an object of settings`]);
  });

  it("refuses keys that would reach a prototype", () => {
    const raw: unknown = JSON.parse('{"__proto__": {"enabled": true}, "constructor": 1}');
    expect(refusals(raw).map((line) => line.split(":")[0])).toEqual(["hooks.__proto__", "hooks.constructor"]);
  });

  it("reads 10,000 mappings, and reports at most a hundred warnings", () => {
    const mappings = Array.from({ length: 10_000 }, (_, at) => ({ match: { path: `p${at}` }, messageTemplate: "m" }));
    expect(read({ mappings }).config.mappings).toHaveLength(10_000);
    const shadowed = read({ mappings: [{ messageTemplate: "m" }, ...mappings] }).warnings;
    expect(shadowed).toHaveLength(101);
    expect(shadowed.at(-1)).toBe("... and 9900 more");
  });

  it("names every one of 1,000 wrong mappings", () => {
    const issues = refusalsOf({ mappings: Array.from({ length: 1_000 }, () => ({ action: "x", extra: 1 })) });
    expect(issues).toHaveLength(2_000);
  });

  it("loads the block of an OpenClaw gateway unchanged", () => {
    const text = readFileSync(join(import.meta.dirname, "openclaw-block.json5"), "utf8");
    const { config, warnings } = readHooksConfig(JSON5.parse(text), context());
    expect(config).toMatchObject({
      enabled: true,
      path: "/hooks",
      allowedAgentIds: undefined,
      allowedSessionKeyPrefixes: ["hook:", "hook:ci:"],
      transformsDir: "/etc/gateway/hooks/transforms/custom",
      presets: ["gmail"],
      gmail: { model: "openai/gpt-5-mini", thinking: "off", maxBytes: 20_000 },
    });
    expect(config.mappings.map(({ id }) => id)).toEqual(["gmail-hook", "mapping-2", "ingest", "gmail"]);
    expect(config.mappings[0]!.transform).toEqual({ module: "gmail.js", export: "transformGmail" });
    expect(warnings).toEqual([
      "hooks.mappings[0].sessionKey: is a template, so it counts as a key from the caller: calls are answered 400 until hooks.allowRequestSessionKey is true",
    ]);
  });

  it("throws nothing but a ConfigError, whatever JSON it is given", () => {
    const names = [
      ...Object.keys(HooksSchema.properties),
      ...Object.keys(HooksSchema.properties.mappings.items.properties),
    ];
    const key = fc.oneof(
      fc.constantFrom(...names, ...PRESETS.keys(), ...Object.keys(AuthSchema.properties), "verifyToken"),
      fc.constantFrom("env", "file", "module", "path", "source", "__proto__"),
      fc.string(),
    );
    const { json } = fc.letrec<{ json: unknown }>((tie) => ({
      json: fc.oneof(
        { maxDepth: 5, depthSize: "small" },
        fc.constantFrom(
          "wake",
          "agent",
          "gmail",
          "github",
          "meta",
          "secret",
          "jwt",
          "header:x-signature",
          "{timestamp}.{body}",
          GOOD_SECRET,
          "hook:{{id}}",
          "/",
          "1kb",
          "2h",
          "last",
          GOOD_TOKEN,
          true,
          false,
          null,
          1,
        ),
        fc.string(),
        fc.double(),
        fc.array(tie("json"), { maxLength: 4 }),
        fc.array(fc.tuple(key, tie("json")), { maxLength: 6 }).map((entries) => Object.fromEntries(entries)),
      ),
    }));
    fc.assert(
      fc.property(json, json, json, (raw, token, mapping) => {
        for (const block of [raw, { enabled: true, token, mappings: [mapping, raw] }]) {
          try {
            const { config } = readHooksConfig(block, context());
            expect(config.path).toMatch(/^\/.*[^/]$/);
          } catch (error) {
            if (!(error instanceof ConfigError)) throw error;
            expect(error.issues.length).toBeGreaterThan(0);
            expect(error.message).toMatch(/^hooks/);
          }
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it("never has the token or a secret of the gateway in a message, whatever else is wrong", () => {
    const flaw = fc.constantFrom<object>(
      { path: "/" },
      { tokenHeader: "host" },
      { lockout: 5 },
      { defaultSessionKey: "x", allowedSessionKeyPrefixes: ["y"] },
      { mappings: [{}] },
      {},
    );
    const token = fc.oneof(
      fc.constant(GATEWAY_SECRET),
      fc.constant(`${GOOD_TOKEN}\n${GOOD_TOKEN}`),
      fc.constant([GOOD_TOKEN, [GOOD_TOKEN]]),
      fc.constant({ env: GOOD_TOKEN }),
      fc.constant({ file: `/${GOOD_TOKEN}` }),
      fc.constant({ secret: GOOD_TOKEN }),
    );
    fc.assert(
      fc.property(flaw, token, (block, secret) => {
        const text = refusals({ enabled: true, ...block, token: secret }).join("\n");
        expect(text).not.toBe("");
        expect(text).not.toContain(GOOD_TOKEN);
        expect(text).not.toContain(GATEWAY_SECRET);
      }),
    );
  });
});

describe("one round of problems", () => {
  it("has those of every mapping, also of one that the schema refuses, and the warnings", () => {
    const error = refusalOf({
      mappings: [
        { id: "a", messageTemplate: "m", action: "agnt", agentId: "nobody", channel: "nowhere", when: "1 +" },
        { id: "b", messageTemplate: "m", when: "1 +", agentId: "nobody", model: "{{" },
        { id: "c", messageTemplate: "m", match: { path: "x" } },
      ],
    });
    const paths = error.issues.map(({ path }) => path.replace("hooks.mappings", ""));
    expect(paths.toSorted()).toEqual([
      "[0].action",
      "[0].agentId",
      "[0].channel",
      "[0].when",
      "[1].agentId",
      "[1].model",
      "[1].when",
    ]);
    expect(error.warnings.map(({ path }) => path)).toEqual(["hooks.mappings[2]"]);
    expect(error.message.split("\n").at(-1)).toBe(
      "warning  hooks.mappings[2]: never takes effect: hooks.mappings[1] takes all its requests",
    );
  });
});

it("warns of a token while hooks are off because nothing turns them on", () => {
  const off = "hooks.enabled: is not set, so hooks are off although there is a token; write enabled: true";
  expect(readHooksConfig({ token: GOOD_TOKEN }, context()).warnings).toEqual([off]);
  expect(readHooksConfig({ token: GOOD_TOKEN, enabled: false }, context()).warnings).toEqual([]);
  expect(readHooksConfig({}, context()).warnings).toEqual([]);
});

function refusalOf(block: object): ConfigError {
  try {
    readHooksConfig({ enabled: true, token: GOOD_TOKEN, ...block }, context());
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("The block is not refused.");
}
