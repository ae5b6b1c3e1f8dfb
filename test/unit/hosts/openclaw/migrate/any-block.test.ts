import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkHostHooks } from "../../../../../src/hosts/openclaw/migrate/hooks-schema.ts";
import { redactedBlocks } from "../../../../../src/hosts/openclaw/migrate/config.ts";
import { adopted } from "./recorded-shapes.ts";

/** Found in every secret that is made up here. */
const MARK = "q7secretq7";

const word = fc.constantFrom(
  "",
  " ",
  "a",
  "main",
  "OPS",
  "last",
  "telegram",
  "teams",
  "hook:a",
  "hook:{{id}}",
  "{{x}}",
  "${UNSET}",
  "$${X}",
  "/",
  "///",
  "gmail",
  "wake",
  "a/../b",
  "../x.mjs",
  "/abs/x.mjs",
  "shape.mjs",
  "test/m",
  "quick",
  "agent:ops:x",
  "\u0000",
  "é ü",
  "__proto__",
  "constructor",
  "x".repeat(1_100),
  "{{headers.authorization}}",
);
const text = fc.oneof({ weight: 4, arbitrary: word }, fc.string({ maxLength: 20 }));
const secret = fc.oneof(
  fc.string({ maxLength: 30 }).map((tail) => `${MARK}${tail}`),
  fc.constantFrom(`${MARK}-${"long".repeat(8)}`, "${HOOK_TOKEN}", "${UNSET}"),
);
const count = fc.oneof(fc.integer({ min: 1, max: 2 ** 40 }), fc.integer({ min: 1, max: 10 ** 9 }).map(String));
const flag = fc.boolean();
const part = (shape: Record<string, fc.Arbitrary<unknown>>) => fc.record(shape, { requiredKeys: [] });

const mapping = part({
  id: text,
  match: part({ path: text, source: text }),
  action: fc.constantFrom("wake", "agent"),
  wakeMode: fc.constantFrom("now", "next-heartbeat"),
  name: text,
  agentId: text,
  sessionKey: text,
  sessionMode: fc.constantFrom("isolated", "persistent"),
  messageTemplate: fc.oneof(text, fc.constant("Do {{task}}")),
  textTemplate: fc.oneof(text, fc.constant("Told {{task}}")),
  deliver: flag,
  forEach: text,
  allowUnsafeExternalContent: flag,
  channel: text,
  to: text,
  model: text,
  thinking: text,
  timeoutSeconds: count,
  transform: fc.record({ module: text, export: text }, { requiredKeys: ["module"] }),
});

/** Takes only what a mapping that can work has, so that many blocks are adopted. */
const sound = fc.record(
  {
    id: fc.constantFrom("a", "b", "mapping-2"),
    match: part({ path: fc.constantFrom("a", "b", "gmail", "/c/"), source: fc.constantFrom("a", "b") }),
    messageTemplate: fc.constantFrom("Do {{task}}", "Do it"),
    agentId: fc.constantFrom("main", "OPS", "nobody"),
    sessionKey: fc.constantFrom("hook:a", "hook:{{id}}"),
    sessionMode: fc.constantFrom("isolated", "persistent"),
    channel: fc.constantFrom("last", "Telegram", "slack"),
    model: fc.constantFrom("test/m", "quick", "none/none", "{{model}}"),
    timeoutSeconds: count,
  },
  { requiredKeys: ["messageTemplate"] },
);

const hooks = fc.record(
  {
    enabled: fc.constantFrom(true, true, true, false),
    token: secret,
    path: fc.oneof({ weight: 3, arbitrary: fc.constantFrom("/hooks", "in/hooks/") }, text),
    maxBodyBytes: count,
    defaultSessionKey: text,
    allowRequestSessionKey: flag,
    allowedSessionKeyPrefixes: fc.array(text, { maxLength: 3 }),
    allowedAgentIds: fc.array(text, { maxLength: 3 }),
    presets: fc.array(fc.constantFrom("gmail", "github", "", "nonesuch"), { maxLength: 3 }),
    transformsDir: text,
    mappings: fc.oneof(fc.array(mapping, { maxLength: 3 }), fc.array(sound, { maxLength: 4 })),
    gmail: part({
      account: text,
      topic: text,
      pushToken: secret,
      hookUrl: secret.map((tail) => `http://127.0.0.1/${tail}`),
      maxBytes: count,
      renewEveryMinutes: count,
      allowUnsafeExternalContent: flag,
      serve: part({ bind: text, port: count, path: text }),
      tailscale: part({ mode: fc.constantFrom("off", "serve", "funnel"), path: text, target: text }),
      model: text,
      thinking: fc.constantFrom("off", "low", "high"),
    }),
    internal: fc.anything(),
  },
  { requiredKeys: ["enabled", "token"] },
);

const around = fc.record({
  agents: fc.constantFrom(
    {},
    { entries: { main: {}, ops: {} } },
    { list: [{ id: "Ops" }], defaults: { timeoutSeconds: 0 } },
  ),
  channels: fc.constantFrom({}, { telegram: {} }, { $include: "./channels.json5" }),
  plugins: fc.constantFrom(
    {},
    { allow: ["telegram"] },
    { allow: [] },
    { entries: { reveille: { enabled: false, subagent: { allowModelOverride: true, allowedModels: ["a/b"] } } } },
    { entries: { reveille: { subagent: { allowModelOverride: false } } } },
  ),
  gateway: fc.constantFrom({}, { bind: "lan" }, { auth: { token: "${HOOK_TOKEN}" } }),
});

const env = { HOOK_TOKEN: `${MARK}-of-the-environment-${"x".repeat(20)}` };

describe("any block of any version", () => {
  it("is adopted, or refused with sentences, and shows no secret", () => {
    const outcomes = new Map<string, number>();
    fc.assert(
      fc.property(around, hooks, (sections, block) => {
        expect(checkHostHooks(block)).toEqual([]);
        const adoption = adopted({ ...sections, hooks: block }, { env });
        outcomes.set(adoption.outcome, (outcomes.get(adoption.outcome) ?? 0) + 1);
        const shown = JSON.stringify(
          adoption.outcome === "adopted" ? [adoption.notes, redactedBlocks(adoption)] : adoption,
        );
        expect(shown).not.toContain(MARK);
        if (adoption.outcome === "refused") expect(adoption.reasons.every((reason) => reason.length > 20)).toBe(true);
        if (adoption.outcome === "adopted") expect(adopted(adoption.config, { env }).outcome).toBe("nothing");
      }),
      { numRuns: 1_500 },
    );
    // Both ways are taken often enough for this to mean something.
    expect(outcomes.get("adopted")).toBeGreaterThan(50);
    expect(outcomes.get("refused")).toBeGreaterThan(50);
  });

  it("is refused with sentences when it is no block at all", () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.object()), (value) => {
        const adoption = adopted({ hooks: { enabled: true, token: `${MARK}-${"y".repeat(30)}`, mappings: value } });
        if (adoption.outcome === "refused") expect(adoption.reasons).not.toEqual([]);
        expect(["adopted", "refused"]).toContain(adoption.outcome);
      }),
    );
    fc.assert(
      fc.property(fc.object(), (config) => {
        expect(["nothing", "refused"]).toContain(adopted(config).outcome);
      }),
    );
  });
});
