import { describe, expect, it } from "vitest";
import { redactedBlocks } from "../../../../../src/hosts/openclaw/migrate/config.ts";
import { adopted, blockOf, told } from "./recorded-shapes.ts";

const token = "a-hook-token-of-these-tests-24";
const on = { enabled: true, token };

function reasonsOf(config: object, options?: Parameters<typeof adopted>[1]): readonly string[] {
  const adoption = adopted(config, options);
  if (adoption.outcome !== "refused") throw new Error(`It was ${adoption.outcome}.`);
  return adoption.reasons;
}

function entryOf(config: object): Record<string, unknown> {
  const adoption = adopted(config);
  if (adoption.outcome !== "adopted") throw new Error(JSON.stringify(adoption));
  return (adoption.config["plugins"] as { entries: { reveille: Record<string, unknown> } }).entries.reveille;
}

describe("what there is to adopt", () => {
  it("is nothing without a block", () => {
    expect(adopted({})).toEqual({
      outcome: "nothing",
      reason:
        "There is no hooks block, so there is nothing to adopt. To begin without them, see docs/operate/openclaw.md.",
    });
  });

  it("is only the switch when our block is written as it would be", () => {
    const first = adopted({ hooks: on });
    if (first.outcome !== "adopted") throw new Error("It was not adopted.");
    const again = adopted({ ...first.config, hooks: on });
    expect(again.outcome).toBe("adopted");
    expect(blockOf(again)).toEqual(blockOf(first));
  });

  it("is refused beside another block of ours", () => {
    const plugins = { entries: { reveille: { config: { enabled: true, token, path: "/reveille" } } } };
    const [reason] = reasonsOf({ hooks: on, plugins });
    expect(reason).toContain("is written already and is not overwritten");
    expect(reason).toContain("set hooks.enabled to false");
  });

  it("is refused when the plugin is on the list of those that are not loaded", () => {
    expect(reasonsOf({ hooks: on, plugins: { deny: [7, " Reveille"] } })).toEqual([
      "plugins.deny names reveille, so calls would get no answer. Take it off the list, then adopt again.",
    ]);
  });

  it.each([
    [{ $include: "./all.json5", hooks: on }, "The configuration takes in another file"],
    [{ hooks: { ...on, gmail: { $include: "./gmail.json5" } } }, "hooks.gmail takes in another file"],
    [{ hooks: on, plugins: { entries: { $include: "./plugins.json5" } } }, "plugins.entries takes in another file"],
  ])("is refused where another file is taken in: %j", (config, words) => {
    expect(reasonsOf(config).join()).toContain(words);
  });

  it("continues when sections are imported that are only read", () => {
    const mappings = [{ messageTemplate: "x", channel: "slack", to: "room" }];
    const adoption = adopted({ channels: { $include: "./channels.json5" }, hooks: { ...on, mappings } });
    expect(blockOf(adoption)["mappings"]).toEqual(mappings);
  });

  it.each([
    { $include: "./agents.json5" },
    { entries: { $include: "./agents.json5" } },
    { list: [{ $include: "./ops.json5" }] },
  ])("takes the agents that a block names to be there when agents are taken in: %j", (agents) => {
    const mappings = [{ messageTemplate: "x", agentId: "Ops" }];
    const adoption = adopted({ agents, hooks: { ...on, allowedAgentIds: ["Ops"], mappings } });
    expect(blockOf(adoption)).toMatchObject({ allowedAgentIds: ["Ops"], mappings });
    const behavior = told(adoption, "behavior").join("\n");
    expect(behavior).toContain("/hooks/agent: an unknown agentId goes to the default agent,");
    expect(told(adoption, "todo").join("\n")).not.toContain("no agent is called");
  });
});

describe("the new entry", () => {
  it("leaves an empty list of plugins empty, since the host takes it for none", () => {
    const adoption = adopted({ hooks: on, plugins: { allow: [] } });
    expect(adoption).toMatchObject({ outcome: "adopted", config: { plugins: { allow: [] } } });
  });

  it("does not name a plugin twice", () => {
    expect(adopted({ hooks: on, plugins: { allow: ["Reveille"] } })).toMatchObject({
      config: { plugins: { allow: ["Reveille"] } },
    });
  });

  it("adds models to those that are allowed, and keeps a grant without a list", () => {
    const hooks = { ...on, mappings: [{ messageTemplate: "x", model: "a/b" }] };
    const withEntry = (subagent: object): object => ({ hooks, plugins: { entries: { reveille: { subagent } } } });
    expect(entryOf(withEntry({ allowModelOverride: true, allowedModels: ["c/d"] }))["subagent"]).toEqual({
      allowModelOverride: true,
      allowedModels: ["c/d", "a/b"],
    });
    expect(entryOf(withEntry({ allowModelOverride: true }))["subagent"]).toEqual({ allowModelOverride: true });
    expect(reasonsOf(withEntry({ allowModelOverride: false }))).toEqual([
      "plugins.entries.reveille.subagent.allowModelOverride is false, and hooks.mappings[0].model chooses a model; remove the one or the other.",
    ]);
  });

  it("keeps a model that OpenClaw's policy allows, whatever models have settings, and leaves out any other", () => {
    const models = { "a/b": { alias: "Quick" } };
    const modelOf = (model: string, defaults: object, more: object = {}): unknown => {
      const hooks = { ...on, mappings: [{ messageTemplate: "x", model }] };
      const adoption = adopted({ hooks, agents: { defaults: { models, ...defaults } }, ...more });
      return (blockOf(adoption) as { mappings: { model?: string }[] }).mappings[0]?.model;
    };
    const carriedOver = { meta: { migrations: { modelPolicyAllowlist: true } } };
    expect(modelOf("c/d", {})).toBeUndefined();
    expect(modelOf("c/d", {}, carriedOver)).toBe("c/d");
    expect(modelOf("quick", {}, carriedOver)).toBe("a/b");
    expect(modelOf("c/d", { modelPolicy: { allow: ["c/*"] } })).toBe("c/d");
    expect(modelOf("a/b", { modelPolicy: { allow: ["c/*"] } })).toBeUndefined();
    expect(modelOf("a/b", { modelPolicy: { allow: ["quick"] } })).toBe("a/b");
  });

  it("asks to complete a list of models when payloads choose", () => {
    const hooks = { ...on, mappings: [{ messageTemplate: "x", model: "{{model}}" }] };
    const subagent = { allowModelOverride: true, allowedModels: ["c/d"] };
    const adoption = adopted({ hooks, plugins: { entries: { reveille: { subagent } } } });
    expect(told(adoption, "todo").join("\n")).toContain("allowedModels has to name each that may come");
  });

  it("is shown with the token as the variable that it is, and never as it is written", () => {
    const show = (written: string, env: Record<string, string>): unknown => {
      const adoption = adopted({ hooks: { enabled: true, token: written } }, { env });
      if (adoption.outcome !== "adopted") throw new Error(JSON.stringify(adoption));
      return redactedBlocks(adoption)["plugins.entries.reveille.config"];
    };
    expect(show("${A}${B}", { A: token, B: "b" })).toMatchObject({ token: "${A}${B}" });
    expect(show(`\${A}${token}`, { A: "a" })).toMatchObject({ token: "<unchanged>" });
    expect(show(token, {})).toMatchObject({ token: "<unchanged>" });
  });
});

it("shows no session of a mapping but a template or a variable", () => {
  const keys = ["hook:desk", "hook:{{id}}", "${KEY}"];
  const mappings = keys.map((sessionKey) => ({ messageTemplate: "x", sessionKey }));
  const hooks = { ...on, mappings, allowedSessionKeyPrefixes: ["hook:"], allowRequestSessionKey: true };
  const adoption = adopted({ hooks }, { env: { KEY: "hook:k" } });
  if (adoption.outcome !== "adopted") throw new Error(JSON.stringify(adoption));
  expect(redactedBlocks(adoption)["plugins.entries.reveille.config"]).toMatchObject({
    mappings: [{ sessionKey: "<unchanged>" }, { sessionKey: "hook:{{id}}" }, { sessionKey: "${KEY}" }],
  });
});

describe("variables", () => {
  it("that are not set here are reported, and everything else is checked", () => {
    const adoption = adopted({ hooks: { enabled: true, token: "${HOOK_TOKEN}" } }, { env: {} });
    expect(told(adoption, "todo")).toContain(
      "HOOK_TOKEN is not set here, so what refers to it was not judged: the gateway's log says whether Reveille takes it.",
    );
    const shared = { gateway: { auth: { token: "${HOOK_TOKEN}" } }, hooks: { enabled: true, token: "${HOOK_TOKEN}" } };
    expect(reasonsOf(shared, { env: {} })).toEqual([
      "hooks.token: is also a secret of the gateway itself; give the hooks a token of their own",
      "Not set here, so that what refers to them could not be judged: HOOK_TOKEN.",
    ]);
  });

  it("are also those of the file itself, which come after the process", () => {
    const shared = (env: object): object => ({
      env,
      gateway: { auth: { token } },
      hooks: { enabled: true, token: "${HOOK_TOKEN}" },
    });
    expect(adopted(shared({ HOOK_TOKEN: token }), { env: {} }).outcome).toBe("refused");
    expect(adopted(shared({ vars: { HOOK_TOKEN: token } }), { env: {} }).outcome).toBe("refused");
    const own = { HOOK_TOKEN: "another-hook-token-of-these-tests" };
    expect(adopted(shared({ HOOK_TOKEN: token }), { env: own }).outcome).toBe("adopted");
    // An escaped one is text, and no token.
    expect(adopted({ hooks: { enabled: true, token: "$${HOOK_TOKEN}" } }, { env: own }).outcome).toBe("refused");
  });
});

describe("what is translated", () => {
  it("bounds what is larger than any real limit, and reports it", () => {
    const hooks = { ...on, maxBodyBytes: 2 ** 30, mappings: [{ messageTemplate: "x", timeoutSeconds: 100_000 }] };
    const adoption = adopted({ hooks });
    expect(blockOf(adoption)).toMatchObject({ maxBodyBytes: 67_108_864, mappings: [{ timeoutSeconds: 86_400 }] });
    expect(told(adoption, "lost")).toHaveLength(2);
  });

  it("takes the host's time for runs, where 0 is none", () => {
    const withTime = (timeoutSeconds: number): unknown =>
      blockOf(adopted({ agents: { defaults: { timeoutSeconds } }, hooks: on }))["defaultTimeoutSeconds"];
    expect(withTime(60)).toBe(60);
    expect(withTime(0)).toBe(86_400);
    expect(withTime(172_800)).toBe(86_400);
  });

  it("gives each mapping an id of its own, also beside those without one", () => {
    const mappings = [{ id: "mapping-2" }, {}, { id: "mapping-2-2" }].map((id) => ({ ...id, messageTemplate: "x" }));
    const written = blockOf(adopted({ hooks: { ...on, mappings } }))["mappings"] as { id?: string }[];
    expect(written.map(({ id }) => id)).toEqual(["mapping-2", "mapping-2-3", "mapping-2-2"]);
  });

  it("leaves keys from templates without a fixed start to their owner", () => {
    const mappings = [{ messageTemplate: "x", sessionKey: "{{id}}" }];
    expect(reasonsOf({ hooks: { ...on, mappings } }).join()).toContain(
      "hooks.allowedSessionKeyPrefixes: is required since the sessionKey of hooks.mappings[0] is a template",
    );
  });

  it("takes a default key and variables into account when it derives prefixes", () => {
    const mappings = [{ messageTemplate: "x", sessionKey: "hook:{{id}}" }];
    const prefixes = (more: object, env = {}): unknown =>
      blockOf(adopted({ hooks: { ...on, mappings, ...more } }, { env }))["allowedSessionKeyPrefixes"];
    expect(prefixes({ defaultSessionKey: "desk" })).toEqual(["desk", "hook:"]);
    const variable = { ...on, mappings, defaultSessionKey: "${KEY}" };
    expect(reasonsOf({ hooks: variable }, { env: { KEY: "desk" } }).join()).toContain("allowedSessionKeyPrefixes");
  });

  it("reports a key that calls are refused for", () => {
    const mappings = [{ messageTemplate: "x", sessionKey: "hook:{{id}}" }];
    const adoption = adopted({ hooks: { ...on, mappings } });
    expect(told(adoption, "todo").join("\n")).toContain(
      "calls are answered 400 until hooks.allowRequestSessionKey is true",
    );
  });

  it("runs transforms in the gateway when that is asked for", () => {
    const mappings = [{ transform: { module: "shape.mjs" } }];
    const adoption = adopted({ hooks: { ...on, mappings } }, { isolation: "none" });
    expect(blockOf(adoption)["transforms"]).toEqual({ isolation: "none" });
    expect(told(adoption, "behavior").join("\n")).not.toContain("runs in a process of its own");
    expect(blockOf(adopted({ hooks: on }, { isolation: "none" }))["transforms"]).toBeUndefined();
  });

  it.each([
    ["/home/ada/.openclaw/hooks/transforms/mine/shape.mjs", "mine/shape.mjs"],
    ["shape.mjs", "shape.mjs"],
    ["not/there.mjs", "not/there.mjs"],
  ])("writes the module %s as %s", (module, written) => {
    const adoption = adopted({ hooks: { ...on, mappings: [{ transform: { module } }] } });
    expect(blockOf(adoption)["mappings"]).toEqual([{ transform: { module: written } }]);
  });

  it("refuses a module outside of the folder of transforms", () => {
    const hooks = {
      ...on,
      mappings: [{ transform: { module: "/home/ada/shape.mjs" } }, { transform: { module: " " } }],
    };
    expect(reasonsOf({ hooks })).toHaveLength(2);
  });

  it("refuses a mapping that says nothing", () => {
    expect(reasonsOf({ hooks: { ...on, mappings: [{ match: { path: "x" } }] } })).toEqual([
      "hooks.mappings[0]: the action agent needs messageTemplate or transform",
    ]);
  });
});

describe("the report on a block", () => {
  const toldOf = (config: object): string => told(adopted(config), "behavior").join("\n");

  it("names the routes that answer otherwise", () => {
    const mappings = [
      { match: { path: "a", source: "ci" }, messageTemplate: "x" },
      { match: { path: "w" }, action: "wake", textTemplate: "x" },
      { messageTemplate: "x" },
    ];
    expect(toldOf({ hooks: { ...on, path: "/in", mappings } })).toContain(
      '/in/agent, /in/a (source "ci"), /in/<any>: the answer is 202 in the place of 200',
    );
  });

  it("says where replies go only where there are channels", () => {
    const words = "a call without channel and to is delivered to the last recipient";
    expect(toldOf({ hooks: on })).not.toContain(words);
    expect(toldOf({ channels: { telegram: {} }, hooks: on })).toContain(words);
  });

  it("says which models callers may name", () => {
    expect(toldOf({ hooks: on })).toContain("a call that names a model is answered 400 until");
    const mappings = [{ messageTemplate: "x", model: "a/b" }];
    expect(toldOf({ hooks: { ...on, mappings } })).toContain(
      "a call that names another model than a/b is answered 400",
    );
    const open = [{ messageTemplate: "x", model: "{{m}}" }];
    expect(toldOf({ hooks: { ...on, mappings: open } })).toContain("callers may name any model");
  });

  it("keeps the agent and the session of a wake", () => {
    const wake = { action: "wake", textTemplate: "x", agentId: "ops", sessionKey: "hook:ops:{{id}}" };
    const adoption = adopted({ agents: { entries: { main: {}, ops: {} } }, hooks: { ...on, mappings: [wake] } });
    expect(blockOf(adoption)["mappings"]).toEqual([wake]);
    expect(blockOf(adoption)["allowedSessionKeyPrefixes"]).toEqual(["hook:"]);
    expect(told(adoption, "lost")).toEqual([]);
  });

  it("says when calls without an agent go to another than before", () => {
    const withOwner = (defaults: object): string =>
      toldOf({ agents: { ownership: "explicit", defaults, entries: { main: {}, ops: {} } }, hooks: on });
    expect(withOwner({})).toContain("A call that names no agent goes to main, where OpenClaw answers 400.");
    expect(withOwner({ systemAgent: { agentId: "gone" } })).toContain("A call that names no agent goes to main");
    expect(withOwner({ systemAgent: { agentId: "OPS" } })).toContain("an unknown agentId goes to ops");
    expect(withOwner({ systemAgent: { agentId: "OPS" } })).not.toContain("A call that names no agent");
    expect(withOwner({ systemAgent: { agentId: "main" } })).not.toContain("A call that names no agent");
    expect(toldOf({ agents: { ownership: "explicit" }, hooks: on })).not.toContain("A call that names no agent");
  });

  it("keeps the default agent closed where the list of allowed ones lacks it", () => {
    const denied = blockOf(adopted({ hooks: { ...on, allowedAgentIds: [] } }));
    expect(denied).toMatchObject({ allowedAgentIds: [], requireAllowedAgent: true });
    expect(blockOf(adopted({ hooks: on }))).not.toHaveProperty("requireAllowedAgent");
  });

  it("says what happens to the mail watcher, and where it posts to", () => {
    const gmail = { account: "ada@example.org" };
    const adoption = adopted({ gateway: { port: 4_321 }, hooks: { ...on, path: "/in", presets: ["gmail"], gmail } });
    expect(told(adoption, "todo").join("\n")).toContain("posts to http://127.0.0.1:4321/in/gmail, which is ours now");
    expect(told(adoption, "behavior").join("\n")).toContain("each mail is a run of its own, without allowRequest");
    expect(told(adopted({ hooks: on }), "todo").join("\n")).not.toContain("gmail");
  });

  it("says what a subagent's turn has not", () => {
    expect(toldOf({ hooks: on })).toContain("no message, automations, sessions_send");
    expect(toldOf({ hooks: on })).toContain("of the agent's files AGENTS.md alone");
  });

  it("says how to be notified of fewer sessions, unless it is set", () => {
    expect(told(adopted({ hooks: on }), "todo").join("\n")).toContain("session.notifyOnCreate: false");
    const quiet = adopted({ session: { notifyOnCreate: false }, hooks: on });
    expect(told(quiet, "todo").join("\n")).not.toContain("notifyOnCreate");
  });
});
