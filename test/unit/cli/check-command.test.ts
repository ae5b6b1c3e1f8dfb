import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RecordedProcess } from "./recorded-process.ts";

const gateway = { auth: { token: "gateway-token-of-these-tests" } };
const token = "hook-token-of-these-tests-here";
let terminal: RecordedProcess;

beforeEach(() => {
  terminal = new RecordedProcess();
});

afterEach(() => {
  terminal.remove();
});

async function check(content: object | string): Promise<number> {
  mkdirSync(dirname(terminal.configFile), { recursive: true });
  writeFileSync(terminal.configFile, typeof content === "string" ? content : JSON.stringify(content), { mode: 0o600 });
  return await terminal.run("check");
}

describe("reveille check", () => {
  it("finds the configuration of a first start valid, with nothing to be made safer but its literal token", async () => {
    await terminal.run("init");
    terminal.out = "";
    expect(await terminal.run("check")).toBe(0);
    const [verdict, ...lines] = terminal.out.trimEnd().split("\n");
    const findings = lines.slice(lines.lastIndexOf("") + 1);
    expect(verdict).toBe(`${terminal.configFile} is valid.`);
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatch(
      /^info {5}hooks\.token: is written in the configuration file; .*\(config\.secrets\.hooks_token_in_config\)$/u,
    );
    expect(terminal.err).toBe("");
  });

  it("prints what could be safer", async () => {
    expect(await check({ gateway, hooks: { enabled: true, token, allowRequestSessionKey: true } })).toBe(0);
    expect(terminal.out).toContain("(hooks.request_session_key_enabled)");
    expect(terminal.out).toContain("(hooks.allowed_agent_ids_unrestricted)");
    expect(terminal.out).not.toContain(token);
  });

  it("prints what runs can reach for every mapping, also as a document", async () => {
    const mappings = [
      {
        id: "diary",
        match: { path: "diary" },
        messageTemplate: "m",
        sessionMode: "persistent",
        acceptAllThree: "mine",
        to: "x",
      },
      { id: "note", match: { path: "note" }, messageTemplate: "m", mode: "deliver" },
    ];
    expect(await check({ gateway, hooks: { enabled: true, token, mappings } })).toBe(0);
    const cells = terminal.out.split("\n").map((line) => line.split(/ {2,}/u));
    expect(cells).toContainEqual(["direct /agent", "all", "main", "yes", "no", "no", "at most two"]);
    expect(cells).toContainEqual(["diary", "all", "main", "yes", "yes", "yes", "all three, accepted"]);
    expect(cells).toContainEqual(["note", "all", "main", "no", "at most two"]);
    expect(terminal.out).toContain(
      '(a recipient of its own on the channel last ("to")): "mine" (hooks.all_three_accepted)',
    );
    terminal.out = "";
    await terminal.run("check", "--json");
    const { exposures } = JSON.parse(terminal.out) as { exposures: readonly object[] };
    expect(exposures).toContainEqual(
      expect.objectContaining({ mappingId: "diary", verdict: "accepted", accepted: "mine" }),
    );
  });

  it("prints warnings", async () => {
    writeFileSync(join(terminal.homeDir, "secret"), token, { mode: 0o644 });
    expect(await check({ gateway, hooks: { enabled: true, token: { file: "../secret" } } })).toBe(0);
    expect(terminal.out).toMatch(/^warning {2}hooks\.token: others than its owner may use/mu);
  });

  it("ends with code 1 and every issue when the gateway's part is not valid", async () => {
    expect(await check({ gateway: { ...gateway, port: "80" }, chanels: {} })).toBe(1);
    expect(terminal.out).toBe("");
    expect(terminal.err.trimEnd().split("\n")).toEqual([
      "The configuration is not valid.",
      'chanels: unknown key; did you mean "channels"?',
      'gateway.port: "80" is not a whole number',
    ]);
  });

  it("ends with code 1 when the hooks block is not valid, transforms included", async () => {
    const mappings = [{ id: "m", match: { path: "x" }, transform: { module: "gone.ts" }, action: "wak" }];
    expect(await check({ gateway, hooks: { enabled: true, token, mappings } })).toBe(1);
    expect(terminal.err).toContain('hooks.mappings[0].action: "wak" is not one of wake, agent');
  });

  it("ends with code 1 when there is no configuration, or none that can be read", async () => {
    expect(await terminal.run("check")).toBe(1);
    expect(terminal.err).toContain("the configuration cannot be read (ENOENT); reveille init writes one");
    expect(await check("{")).toBe(1);
    expect(terminal.err).toContain("is not JSON5");
  });

  it("loads plugins, lets them refuse, and opens nothing", async () => {
    const folder = join(terminal.homeDir, ".reveille", "p");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "plugin.json"), JSON.stringify({ id: "p", entry: "p.js", pluginApi: "1" }));
    writeFileSync(
      join(folder, "p.js"),
      `import { WebhookIngress } from "reveille";
       export default class {
         apply(host) {
           WebhookIngress.hooks(host).presets.tap("p", () => {});
           host.lifecycle.onConfigLoad.tapPromise("p", async ({ agents, channels, onCommit, config }) => {
             onCommit(() => { throw new Error("committed"); });
             const failed = await host.sessions.enqueueSystemEvent({}).then(() => false, (error) => error.name === "HostError");
             host.sessions.requestHeartbeat({});
             const state = [failed, host.sessions.mainSessionKey("main"), host.channels.list().length, host.agents.list().length, channels.length, agents.list().length, host.clock.now() > 0];
             if (config.tokenHeader !== undefined) throw new Error(JSON.stringify(state));
           });
         }
       }`,
    );
    const plugins = { load: { paths: ["p"] } };
    expect(await check({ gateway, plugins, hooks: { enabled: true, token } })).toBe(0);
    expect(await check({ gateway, plugins, hooks: { enabled: true, token, tokenHeader: "x-token" } })).toBe(1);
    expect(terminal.err).toContain('Hook "onConfigLoad", tap "p": [true,"agent:main:main",1,1,1,1,true]');
    expect(existsSync(join(terminal.homeDir, ".reveille", "state"))).toBe(false);
  });
});
