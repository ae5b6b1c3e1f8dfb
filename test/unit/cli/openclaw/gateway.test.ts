import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { addAdopt } from "../../../../src/cli/openclaw/commands.ts";
import { OpenClawCliGateway } from "../../../../src/cli/openclaw/gateway.ts";
import { withHostDefaults } from "../../../../src/hosts/openclaw/plugin-block.ts";
import { RecordedProcess } from "../recorded-process.ts";

const token = "the-token-of-the-hooks-of-this-test";
let terminal: RecordedProcess;

beforeEach(() => {
  terminal = new RecordedProcess();
});
afterEach(() => {
  terminal.remove();
});

function gatewayOf(config: object, env: NodeJS.ProcessEnv = {}): OpenClawCliGateway {
  const stateDir = join(terminal.homeDir, ".openclaw");
  return new OpenClawCliGateway({
    config: { ...config },
    stateDir,
    env,
    pluginId: "reveille",
    block: withHostDefaults,
  });
}

function run(config: object, ...args: readonly string[]): Promise<number> {
  return terminal.runFor(gatewayOf(config), addAdopt, args);
}

function withBlock(block: object): object {
  return { plugins: { entries: { reveille: { config: block } } } };
}

describe("openclaw reveille", () => {
  it("has the commands of a gateway that runs elsewhere, and none that starts one", async () => {
    expect(await run({}, "--help")).toBe(0);
    for (const name of ["adopt", "check", "deliveries", "doctor", "hooks", "keys", "presets", "send", "transform"]) {
      expect(terminal.out).toMatch(new RegExp(`^ {2}${name}\\b`, "mu"));
    }
    expect(terminal.out).not.toMatch(/^ {2}(?:serve|init)\b/mu);
    expect(await run({}, "check", "--config", "x")).toBe(1);
    expect(terminal.err).toContain("unknown option '--config'");
  });

  it("says that the block is valid, and what could be safer, by the names that it has there", async () => {
    expect(await run(withBlock({ enabled: true, token }), "check")).toBe(0);
    expect(terminal.out).toContain("openclaw.json is valid.");
    expect(terminal.out).toContain("plugins.entries.reveille.config.");
    // The name of a finding in parentheses is no key.
    expect(terminal.out).not.toMatch(/(?<![\w.(])hooks\./u);
  });

  it("refuses a block that is not, a prefix that the host's own hooks have, and says where", async () => {
    expect(await run(withBlock({ enabled: true, tokn: token }), "check")).toBe(1);
    expect(terminal.err).toContain("plugins.entries.reveille.config.tokn: ");
    const clash = { ...withBlock({ enabled: true, token, path: "/hooks" }), hooks: { enabled: true } };
    expect(await run(clash, "check")).toBe(1);
    expect(terminal.err).toContain(
      "plugins.entries.reveille.config.path: /hooks is taken by OpenClaw's built-in hooks",
    );
    expect(terminal.err.split("plugins.entries.reveille.config.path: ")).toHaveLength(2);
  });

  it("prints the paths of this host, and where to write a preset's block", async () => {
    expect(await run({}, "presets", "show", "github")).toBe(0);
    expect(terminal.out).toContain("with plugins.entries.reveille.config in the place of hooks");
    expect(terminal.out).toContain("/reveille/github");
    expect(terminal.out).toContain("openclaw reveille send github");
  });

  it("loads transforms from the folder beside the host's configuration", async () => {
    const folder = join(terminal.homeDir, ".openclaw/hooks/transforms");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "shape.js"), "export default () => ({ message: 'shaped' });");
    const mappings = [{ id: "m", match: { path: "m" }, transform: { module: "shape.js" } }];
    expect(await run(withBlock({ enabled: true, token, mappings }), "transform", "test", "shape.js")).toBe(0);
    expect(terminal.out).toContain("shaped");
  });

  it("says how to begin where there is no block", async () => {
    await run({}, "doctor", "--json");
    expect(terminal.out).toContain("openclaw reveille adopt");
    expect(await run({}, "send", "github")).toBe(1);
    expect(terminal.err).toContain("openclaw reveille adopt");
  });
});

describe("the way to the gateway's API", () => {
  const auth = { gateway: { port: 19_000, auth: { token: "gateway-token" } } };

  it("is the host's address on loopback, with the token that its API takes", () => {
    const apiUrl = "http://127.0.0.1:19000/plugins/reveille/api/v1";
    expect(gatewayOf(auth).access({})).toEqual({ url: "http://127.0.0.1:19000", apiUrl, token: "gateway-token" });
    expect(gatewayOf(auth).access({ url: "https://gateway.example.com/" })).toEqual({
      url: "https://gateway.example.com",
      apiUrl: "https://gateway.example.com/plugins/reveille/api/v1",
      token: "gateway-token",
    });
  });

  it("takes the token out of the environment when the configuration refers to it, and a password where it is one", () => {
    const reference = { gateway: { auth: { token: { source: "env", id: "X" } } } };
    expect(gatewayOf(reference, { OPENCLAW_GATEWAY_TOKEN: "from-env" }).access({}).token).toBe("from-env");
    const password = { gateway: { auth: { mode: "password", token: "t", password: "p" } } };
    expect(gatewayOf(password).access({}).token).toBe("p");
  });

  it("needs none where the gateway takes none, and otherwise says which variable to set", () => {
    expect(gatewayOf({ gateway: { auth: { mode: "none" } } }).access({})).not.toHaveProperty("token");
    expect(() => gatewayOf({}).access({})).toThrow("OPENCLAW_GATEWAY_TOKEN");
  });

  it("leads to where the host has its files", () => {
    const folder = join(terminal.homeDir, ".openclaw");
    expect(gatewayOf({}).locate()).toEqual({
      configFile: join(folder, "openclaw.json"),
      stateDir: join(folder, "reveille"),
    });
    expect(gatewayOf({}, { OPENCLAW_CONFIG_PATH: "/etc/claw.json" }).locate().configFile).toBe("/etc/claw.json");
  });
});
