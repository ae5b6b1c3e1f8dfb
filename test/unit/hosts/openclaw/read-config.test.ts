import { describe, expect, it } from "vitest";
import type { OpenClawConfig } from "../../../../src/hosts/openclaw/sdk.ts";
import {
  agentCatalog,
  builtInPrefix,
  channelList,
  gatewayFacts,
  mainKey,
  pluginBlock,
} from "../../../../src/hosts/openclaw/read-config.ts";

const entry = (fields: object): object => ({ plugins: { entries: { reveille: fields } } });

describe("the plugin's block", () => {
  it("is what was written", () => {
    expect(pluginBlock({ ...entry({ config: { enabled: true } }) }, "reveille")).toEqual({ enabled: true });
  });

  it("is absent when the host has made an empty one, and when there is no entry", () => {
    expect(pluginBlock({ ...entry({ config: {} }) }, "reveille")).toBeUndefined();
    expect(pluginBlock({}, "reveille")).toBeUndefined();
    expect(pluginBlock({ plugins: 7 }, "reveille")).toBeUndefined();
  });
});

describe("facts of the gateway", () => {
  it("have every secret that is written or in the environment, once", () => {
    const config = {
      gateway: { auth: { token: "a", password: "b" } },
      models: { providers: { one: { apiKey: "c" }, two: { apiKey: { source: "env" } }, three: 3 } },
    };
    const env = { OPENCLAW_GATEWAY_TOKEN: "a", OPENCLAW_GATEWAY_PASSWORD: "d" };
    expect(gatewayFacts(config, env).secrets).toEqual(["a", "b", "d", "c"]);
  });

  it("say whether anybody but this machine reaches it", () => {
    expect(gatewayFacts({}, {}).loopbackOnly).toBe(true);
    expect(gatewayFacts({ gateway: { bind: "loopback" } }, {}).loopbackOnly).toBe(true);
    expect(gatewayFacts({ gateway: { bind: "lan" } }, {}).loopbackOnly).toBe(false);
    expect(gatewayFacts({ gateway: { tailscale: { mode: "funnel" } } }, {}).loopbackOnly).toBe(false);
  });

  it("have the proxies that are believed", () => {
    expect(gatewayFacts({ gateway: { trustedProxies: ["10.0.0.1", 7] } }, {}).trustedProxies).toEqual(["10.0.0.1"]);
    expect(gatewayFacts({}, {}).trustedProxies).toEqual([]);
  });
});

describe("the agents", () => {
  it("are main alone when none is configured", () => {
    const agents = agentCatalog({}, "reveille");
    expect(agents.list()).toEqual([{ id: "main", isDefault: true }]);
    expect(agents.resolve("unknown")).toEqual({ id: "main", isDefault: true });
  });

  it("are read from entries, where main is the default one", () => {
    const agents = agentCatalog({ agents: { entries: { ops: {}, main: {} } } }, "reveille");
    expect(agents.list()).toEqual([
      { id: "ops", isDefault: false },
      { id: "main", isDefault: true },
    ]);
    expect(agents.resolve("ops")).toEqual({ id: "ops", isDefault: false });
  });

  it("are read from the list of older versions, with the default one marked", () => {
    const agents = agentCatalog({ agents: { list: [{ id: "a" }, { id: "b", default: true }, 7] } }, "reveille");
    expect(agents.resolve(undefined)).toEqual({ id: "b", isDefault: true });
    expect(agentCatalog({ agents: { list: [{ id: "a" }, { id: "b" }] } }, "reveille").resolve("x").id).toBe("a");
  });

  it("have the host's system agent for the default one where they are owned explicitly", () => {
    const defaults = { systemAgent: { agentId: "Ops" } };
    const entries = { main: { default: true }, ops: {} };
    const defaultOf = (agents: object): string => agentCatalog({ agents }, "reveille").resolve(undefined).id;
    expect(defaultOf({ ownership: "explicit", defaults, entries })).toBe("ops");
    expect(defaultOf({ defaults, entries })).toBe("main");
    expect(defaultOf({ ownership: "explicit", defaults: { systemAgent: { agentId: "no" } }, entries })).toBe("main");
  });

  it("are found by their ids as the host compares them, the exact one first", () => {
    const agents = agentCatalog({ agents: { list: [{ id: "main" }, { id: "On Call" }, { id: "on-call" }] } }, "r");
    expect(["ON CALL", "on-call", " Main "].map((id) => agents.resolve(id).id)).toEqual(["On Call", "on-call", "main"]);
  });
});

describe("the models that runs may choose", () => {
  const models = { agents: { defaults: { models: { "p/a": { alias: "fast" }, "p/b": {} } } } };
  const allowed = (subagent: object, more: object = {}): readonly string[] | undefined =>
    agentCatalog({ ...entry({ subagent }), ...more }, "reveille").allowedModels("main");

  it("are none until the owner has allowed the plugin to choose", () => {
    expect(agentCatalog({}, "reveille").allowedModels("main")).toEqual([]);
    expect(allowed({ allowModelOverride: false })).toEqual([]);
  });

  it("are none for a reason that names the key to set", () => {
    const problem = (config: OpenClawConfig): string | undefined =>
      agentCatalog(config, "reveille").modelProblem?.("p/a");
    expect(problem({})).toContain("plugins.entries.reveille.subagent.allowModelOverride");
    expect(problem({ ...entry({ subagent: { allowModelOverride: true } }) })).toBeUndefined();
  });

  it("are all without a list, those of the plugin's list, and those that both lists have", () => {
    expect(allowed({ allowModelOverride: true })).toBeUndefined();
    expect(allowed({ allowModelOverride: true, allowedModels: ["*"] })).toBeUndefined();
    expect(allowed({ allowModelOverride: true, allowedModels: ["p/b"] })).toEqual(["p/b"]);
    expect(allowed({ allowModelOverride: true }, models)).toEqual(["p/a", "fast", "p/b"]);
    expect(allowed({ allowModelOverride: true, allowedModels: ["p/b", "p/c"] }, models)).toEqual(["p/b"]);
  });
});

describe("the models that the host's own policy allows", () => {
  const models = { "p/a": { alias: "Fast" }, "p/b": {} };
  const allowed = (agents: object, more: object = {}): readonly string[] | undefined =>
    agentCatalog({ ...entry({ subagent: { allowModelOverride: true } }), agents, ...more }, "reveille").allowedModels(
      "main",
    );

  it("are those of its list, by reference and by alias, whatever models have settings", () => {
    const modelPolicy = { allow: ["fast", " q/c "] };
    expect(allowed({ defaults: { models, modelPolicy } })).toEqual(["p/a", "Fast", "q/c"]);
    expect(allowed({ defaults: { models, modelPolicy: { allow: ["q/*"] } } })).toBeUndefined();
  });

  it.each<[string, object, object]>([
    ["the list is empty", { defaults: { models, modelPolicy: { allow: [] } } }, {}],
    ["there is a policy without a list", { defaults: { models, modelPolicy: {} } }, {}],
    [
      "the host has carried the models over",
      { defaults: { models } },
      { meta: { migrations: { modelPolicyAllowlist: true } } },
    ],
  ])("are all when %s", (_, agents, more) => {
    expect(allowed(agents, more)).toBeUndefined();
  });

  it("are those of the agent's own list, where it has one", () => {
    const defaults = { models, modelPolicy: { allow: ["p/a"] } };
    expect(allowed({ defaults, entries: { main: { modelPolicy: { allow: ["p/b"] } } } })).toEqual(["p/b"]);
    expect(allowed({ defaults, entries: { main: { modelPolicy: { allow: [] } } } })).toBeUndefined();
    expect(allowed({ defaults, entries: { main: { modelPolicy: {} } } })).toEqual(["p/a", "Fast"]);
  });

  it("narrow what the plugin's own list grants, also by provider", () => {
    const subagent = { allowModelOverride: true, allowedModels: ["p/a", "p/b", "q/c"] };
    const agents = { defaults: { models, modelPolicy: { allow: ["q/*", "fast"] } } };
    expect(agentCatalog({ ...entry({ subagent }), agents }, "reveille").allowedModels("main")).toEqual(["p/a", "q/c"]);
  });
});

describe("the channels", () => {
  it("are those that are configured and not turned off, with their recipients", () => {
    const channels = {
      defaults: { groupPolicy: "open" },
      telegram: { defaultTo: 12345 },
      slack: { defaultTo: "C1" },
      discord: { enabled: true },
      signal: { enabled: false },
      broken: 7,
    };
    expect(channelList({ channels })).toEqual([
      { id: "telegram", defaultTo: "12345" },
      { id: "slack", defaultTo: "C1" },
      { id: "discord" },
    ]);
  });
});

describe("what else is read", () => {
  it("is the key of main sessions", () => {
    expect(mainKey({})).toBe("main");
    expect(mainKey({ session: { mainKey: " Home " } })).toBe("home");
  });

  it("is the prefix of the host's own hooks while they are on", () => {
    expect(builtInPrefix({})).toBeUndefined();
    expect(builtInPrefix({ hooks: { path: "/x" } })).toBeUndefined();
    expect(builtInPrefix({ hooks: { enabled: true } })).toBe("/hooks");
    expect(builtInPrefix({ hooks: { enabled: true, path: "in/bound//" } })).toBe("/in/bound");
  });
});
