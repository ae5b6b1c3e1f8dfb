import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConfigError } from "../../../../../src/config/errors.ts";
import { readGatewayConfig } from "../../../../../src/hosts/embedded/config/read.ts";

const token = "gateway-token-of-this-test";
const hooksToken = "b7e0c3f1a94d2268d5c0e17f3a8b6694";
const gateway = { auth: { token } };
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reveille-refuse-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function refusal(content: object): ConfigError {
  const file = join(folder, "reveille.json5");
  writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
  try {
    readGatewayConfig({ file, env: {} });
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("The configuration was not refused.");
}

const paths = (content: object): string[] => refusal(content).issues.map(({ path }) => path);

describe("a refused file", () => {
  it("has the problems of the gateway's keys and of the hooks block in one round", () => {
    const content = {
      gateway: { ...gateway, prot: 1 },
      agents: { list: [{ id: "main", model: "nowhere/large" }] },
      hooks: {
        enabled: true,
        token: hooksToken,
        presest: [],
        mappings: [
          { match: { path: "a" }, messageTemplate: "m", when: "1 +", agentId: "nobody", model: "x/y", channel: "irc" },
        ],
      },
    };
    expect(paths(content)).toEqual([
      "gateway.prot",
      "agents.list[0].model",
      "hooks.presest",
      "hooks.mappings[0].when",
      "hooks.mappings[0].agentId",
      "hooks.mappings[0].model",
      "hooks.mappings[0].channel",
    ]);
  });

  it("has the warnings of a refused hooks block as well", () => {
    const hooks = {
      enabled: true,
      token: hooksToken,
      mappings: [{ messageTemplate: "a", channel: "irc" }, { messageTemplate: "b" }],
    };
    const { warnings } = refusal({ gateway: { ...gateway, prot: 1 }, hooks });
    expect(warnings.map(({ path }) => path)).toContain("hooks.mappings[1]");
  });

  it("blames no reference to a section that is itself refused", () => {
    const mapping = { messageTemplate: "m", agentId: "ops", model: "acme/large", channel: "webhook" };
    const hooks = { enabled: true, token: hooksToken, mappings: [mapping] };
    expect(
      paths({
        gateway,
        models: { providers: { acme: { baseUrl: 5 } } },
        agents: { list: [{ id: "ops", model: "acme/large" }] },
        channels: { webhook: { url: 5, secret: "x" } },
        hooks,
      }),
    ).toEqual(["models.providers.acme.baseUrl", "channels.webhook.url"]);
  });

  it("does not name a key twice", () => {
    expect(paths({ gateway: { auth: { token: "${MISSING_VARIABLE}" }, bind: "lan" } })).toEqual(["gateway.auth.token"]);
    expect(paths({ gateway: { auth: { token: 5 } } })).toEqual(["gateway.auth.token"]);
  });

  it("leaves the presets of plugins and of modules alone, which are not loaded", () => {
    const hooks = { enabled: true, token: hooksToken, presets: ["./acme.ts", "acme"], acme: { secret: "s" } };
    expect(paths({ gateway: { ...gateway, prot: 1 }, hooks })).toEqual(["gateway.prot"]);
    const named = { ...hooks, presets: ["acme"] };
    expect(paths({ gateway: { ...gateway, prot: 1 }, plugins: { load: { paths: ["./p"] } }, hooks: named })).toEqual([
      "gateway.prot",
    ]);
    expect(paths({ gateway: { ...gateway, prot: 1 }, hooks: named })).toEqual([
      "gateway.prot",
      "hooks.acme",
      "hooks.presets[0]",
    ]);
  });

  it("is one line for a whole file of OpenClaw", () => {
    const content = { meta: {}, wizard: {}, auth: {}, gateway: { mode: "local" }, channels: { telegram: {} } };
    expect(refusal(content).message).toBe(
      `${join(folder, "reveille.json5")}: this is OpenClaw's file: paste only its hooks block into yours, or make yours from it: reveille adopt <file>`,
    );
  });
});
