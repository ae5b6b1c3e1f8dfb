import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { adoptIntoEmbedded, type EmbeddedAdoptOptions } from "../../../src/cli/adopt-command.ts";
import type { CliGateway } from "../../../src/cli/gateway.ts";
import { substituteEnv } from "../../../src/hosts/embedded/config/substitute-env.ts";

const token = "a-hook-token-of-these-tests-24";
let folder: string;
let source: string;
let target: string;
let out: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reveille-adopt-test-"));
  source = join(folder, "openclaw.json");
  target = join(folder, "new/reveille.json5");
  out = "";
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function run(config: object, options: EmbeddedAdoptOptions = {}): Promise<number> {
  writeFileSync(source, JSON.stringify(config));
  const gateway = { locate: () => ({ configFile: target, stateDir: folder }) } as unknown as CliGateway;
  return adoptIntoEmbedded(source, options, { env: {}, gateway, out: (text) => (out += String(text)) });
}

function written(): Record<string, unknown> {
  return JSON.parse(readFileSync(target, "utf8")) as Record<string, unknown>;
}

const config = {
  gateway: { port: 19_000, auth: { token: "${GATEWAY_TOKEN}" }, trustedProxies: ["10.0.0.1"] },
  models: {
    providers: {
      local: { baseUrl: "http://127.0.0.1:11434/v1", apiKey: "${LOCAL_KEY}", models: [{ id: "m" }] },
      other: { baseUrl: "https://other.example", api: "anthropic-messages" },
    },
  },
  agents: {
    defaults: { model: { primary: "local/m", fallbacks: ["other/x"] }, heartbeat: { every: "1h" }, workspace: "/w" },
    list: [
      { id: "Main", default: true },
      { id: "reader", model: "other/x", tools: { deny: ["exec"] } },
    ],
  },
  channels: { telegram: { botToken: "t" } },
  session: { mainKey: "home", scope: "per-sender" },
  cron: { enabled: true },
  hooks: {
    enabled: true,
    token,
    allowedAgentIds: ["main", "reader"],
    mappings: [
      { match: { path: "build" }, agentId: "reader", messageTemplate: "The build is {{status}}." },
      { match: { path: "mail" }, channel: "telegram", to: "7", messageTemplate: "Mail.", sessionMode: "persistent" },
    ],
  },
};

describe("reveille adopt", () => {
  it("writes a configuration that the embedded gateway takes, and leaves OpenClaw's as it is", async () => {
    expect(await run(config)).toBe(0);
    expect(readFileSync(source, "utf8")).toBe(JSON.stringify(config));
    expect(statSync(target).mode & 0o777).toBe(0o600);
    expect(written()).toEqual({
      gateway: { port: 19_000, auth: { token: "${GATEWAY_TOKEN}" }, trustedProxies: ["10.0.0.1"] },
      agents: {
        defaults: { model: "local/m", heartbeat: { every: 3_600 } },
        list: [{ id: "main", default: true }, { id: "reader" }],
      },
      models: { providers: { local: { baseUrl: "http://127.0.0.1:11434/v1", apiKey: "${LOCAL_KEY}" } } },
      session: { mainKey: "home" },
      channels: { console: { enabled: true } },
      hooks: {
        enabled: true,
        token,
        tokenHeader: "X-OpenClaw-Token",
        path: "/hooks",
        allowedAgentIds: ["main", "reader"],
        requireAllowedAgent: true,
        mappings: [
          { match: { path: "build" }, agentId: "reader", messageTemplate: "The build is {{status}}." },
          { match: { path: "mail" }, sessionMode: "persistent", messageTemplate: "Mail.", deliver: false },
        ],
      },
    });
  });

  it.skipIf(process.getuid?.() !== 0)("leaves what root writes to the owner of the place", async () => {
    chownSync(folder, 65_534, 65_533);
    expect(await run(config)).toBe(0);
    for (const path of [target, dirname(target)]) {
      const { uid, gid } = statSync(path);
      expect([uid, gid]).toEqual([65_534, 65_533]);
    }
  });

  it("names what the embedded gateway cannot carry", async () => {
    expect(await run(config, { dryRun: true })).toBe(0);
    expect(existsSync(target)).toBe(false);
    for (const line of [
      "channels: telegram cannot be carried over",
      "agents.list[1]: has no tools here",
      "agents.list[1].model: other/x is left out",
      "agents.defaults.model.fallbacks: is left out",
      "models.providers.other: is left out",
      "hooks.mappings[1].channel: is not a channel here",
      "cron: The embedded gateway has no such section",
      "cannot share a port",
    ]) {
      expect(out).toContain(line);
    }
    expect(out).not.toContain(token);
  });

  it("refuses a block that the gateway would refuse, and adopts the rest when asked", async () => {
    const hooks = { enabled: true, token, mappings: [{ match: { path: "a" } }, ...config.hooks.mappings.slice(0, 1)] };
    const broken = { ...config, hooks: { ...hooks, allowedAgentIds: ["reader"] } };
    expect(await run(broken)).toBe(1);
    expect(out).toContain("hooks.mappings[0]");
    expect(out).toContain("--skip-broken");
    expect(existsSync(target)).toBe(false);
    expect(await run(broken, { skipBroken: true })).toBe(0);
    expect(written()["hooks"]).toMatchObject({ mappings: [{ match: { path: "build" } }] });
  });

  it("marks the agent that takes calls without one in OpenClaw, wherever it stands", async () => {
    const agents = { entries: { reader: {}, main: {}, ops: {} } };
    expect(await run({ ...config, agents })).toBe(0);
    expect(written()).toMatchObject({
      agents: { list: [{ id: "reader" }, { id: "main", default: true }, { id: "ops" }] },
    });
    rmSync(target);
    const owned = { ...agents, ownership: "explicit", defaults: { systemAgent: { agentId: "ops" } } };
    expect(await run({ ...config, agents: owned })).toBe(0);
    expect(written()).toMatchObject({
      agents: { list: [{ id: "reader" }, { id: "main" }, { id: "ops", default: true }] },
    });
  });

  it("leaves out models that no provider here has, by reference or by alias, and keeps their mappings", async () => {
    const { agents } = config;
    const defaults = { ...agents.defaults, models: { "anthropic/opus": { alias: "Opus" } } };
    const [mapping] = config.hooks.mappings;
    const mappings = ["anthropic/opus", "opus", "local/m", "{{model}}"].map((model, at) => ({
      ...mapping,
      match: { path: `build-${at}` },
      model,
    }));
    const hooks = { enabled: true, token, presets: ["gmail"], gmail: { model: "anthropic/opus" }, mappings };
    expect(await run({ ...config, hooks })).toBe(0);
    const kept = (written()["hooks"] as typeof hooks).mappings.map(({ model }) => model);
    expect(kept).toEqual([undefined, undefined, "local/m", "{{model}}"]);
    expect(written()["hooks"]).not.toHaveProperty("gmail");
    expect(out).toMatch(/mappings\[0-1\]\.model, hooks\.gmail\.model: names a model whose provider is not in models/u);
    rmSync(target);
    expect(
      await run({ ...config, agents: { ...agents, defaults }, hooks: { ...hooks, mappings: mappings.slice(0, 2) } }),
    ).toBe(0);
    expect((written()["hooks"] as typeof hooks).mappings.every(({ model }) => model === undefined)).toBe(true);
  });

  it.each<[string, number | undefined]>([
    ["1h30m", 5_400],
    ["45", 2_700],
    ["0m", 0],
    ["7d", 604_800],
    ["8d", undefined],
    ["daily", undefined],
  ])("keeps the interval of the heartbeat as OpenClaw means it: %s", async (every, seconds) => {
    const { agents } = config;
    expect(
      await run({ ...config, agents: { ...agents, defaults: { ...agents.defaults, heartbeat: { every } } } }),
    ).toBe(0);
    const { defaults } = written()["agents"] as { defaults: { heartbeat?: { every: number } } };
    expect(defaults.heartbeat?.every).toBe(seconds);
    expect(out.includes("agents.defaults.heartbeat.every: is left out")).toBe(seconds === undefined);
  });

  it("keeps the model of an agent that is written by its alias", async () => {
    const defaults = { model: "em", models: { "local/m": { alias: "Em" } } };
    const list = [{ id: "main", model: { primary: "Em" } }, { id: "reader" }];
    expect(await run({ ...config, agents: { defaults, list } })).toBe(0);
    expect(written()["agents"]).toMatchObject({ defaults: { model: "local/m" }, list: [{ model: "local/m" }, {}] });
  });

  it("lets runs choose the models that they could in OpenClaw, as far as there are providers for them", async () => {
    const listed = async (defaults: object, meta: object = {}): Promise<unknown> => {
      rmSync(target, { force: true });
      const agents = { defaults: { models: { "local/m": { alias: "Em" }, "other/x": {} }, ...defaults } };
      expect(await run({ ...config, agents, meta })).toBe(0);
      return (written()["agents"] as { defaults: { models?: unknown } }).defaults.models;
    };
    expect(await listed({})).toEqual({ "local/m": { alias: "Em" } });
    expect(await listed({}, { migrations: { modelPolicyAllowlist: true } })).toBeUndefined();
    expect(await listed({ modelPolicy: { allow: ["local/n"] } })).toEqual({ "local/n": {} });
    expect(await listed({ modelPolicy: { allow: ["local/*"] } })).toEqual({ "local/m": { alias: "Em" } });
  });

  it("takes variables that have a value in OpenClaw's file or none at all, and names those to set", async () => {
    const env = { vars: { HOOK_TOKEN: token } };
    const gateway = { auth: { mode: "password", password: "${GATEWAY_PASSWORD}" } };
    expect(
      await run({ env, gateway, hooks: { enabled: true, token: "${HOOK_TOKEN}", defaultSessionKey: "hook:${DESK}" } }),
    ).toBe(0);
    expect(out).toContain("Set HOOK_TOKEN, DESK, REVEILLE_GATEWAY_TOKEN in the environment of the new gateway");
    expect(out).not.toContain(token);
    expect(written()).toMatchObject({
      gateway: { auth: { token: { env: "REVEILLE_GATEWAY_TOKEN" } } },
      hooks: { token: "${HOOK_TOKEN}", defaultSessionKey: "hook:${DESK}" },
    });
  });

  it("escapes what is a reference to the embedded gateway alone", async () => {
    const messageTemplate = "${price} $${PRICE} $${price} ${";
    expect(
      await run({ ...config, hooks: { enabled: true, token, mappings: [{ match: { path: "a" }, messageTemplate }] } }),
    ).toBe(0);
    const [mapping] = (written()["hooks"] as { mappings: { messageTemplate: string }[] }).mappings;
    expect(substituteEnv(mapping?.messageTemplate, {})).toEqual({
      value: "${price} ${PRICE} $${price} ${",
      issues: [],
    });
  });

  it("refuses a file without hooks, and never replaces a configuration", async () => {
    expect(await run({ gateway: {} })).toBe(1);
    expect(out).toContain("There is no hooks block");
    expect(await run(config)).toBe(0);
    await expect(run(config)).rejects.toThrow("exists already");
  });

  it("prints a document for programs with --json, written or refused", async () => {
    expect(await run(config, { json: true })).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ source, written: target, problems: [] });
    out = "";
    const broken = { ...config, hooks: { ...config.hooks, mappings: [{ match: { path: "x" }, action: "fly" }] } };
    rmSync(target);
    expect(await run(broken, { json: true })).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ written: null, problems: [expect.stringContaining("mappings")] });
  });
});
