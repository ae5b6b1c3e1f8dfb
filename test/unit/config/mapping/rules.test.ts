import { describe, expect, it } from "vitest";
import { agentCatalog } from "../../../../src/hosts/openclaw/read-config.ts";
import { catalog, context, GOOD_SECRET, read, refusalsOf } from "../hooks-context.ts";

const agent = { messageTemplate: "m" };
const wake = { action: "wake", textTemplate: "t" };
const warningsOf = (...mappings: readonly object[]): readonly string[] => read({ mappings }).warnings;
const refuse = (...mappings: readonly object[]): string[] => refusalsOf({ mappings });
const models = context({ agents: catalog({ main: ["acme/large", "fast"], Ops: ["acme/small"] }) });

describe("rules for a mapping", () => {
  it.each([
    [{}, "hooks.mappings[0]: the action agent needs messageTemplate or transform"],
    [{ messageTemplate: " " }, "hooks.mappings[0]: the action agent needs messageTemplate or transform"],
    [{ textTemplate: "t" }, "hooks.mappings[0]: the action agent needs messageTemplate or transform"],
    [{ action: "wake" }, "hooks.mappings[0]: the action wake needs textTemplate or transform"],
    [{ action: "wake", messageTemplate: "m" }, "hooks.mappings[0]: the action wake needs textTemplate or transform"],
  ])("refuses %j, which can make no action", (mapping, line) => {
    expect(refuse(mapping)).toEqual([line]);
  });

  it("lets a transform supply what the templates do not", () => {
    expect(refuse({ transform: { module: "a.js" } }, { action: "wake", transform: { module: "a.js" } })).toEqual([]);
  });

  it("refuses an id that is there twice, the generated ones included", () => {
    const paths = [{ match: { path: "a" } }, { match: { path: "b" } }, { match: { path: "c" } }];
    expect(
      refuse({ ...agent, ...paths[0], id: "x" }, { ...agent, ...paths[1] }, { ...agent, ...paths[2], id: " x " }),
    ).toEqual(['hooks.mappings[2].id: "x" is also the id of hooks.mappings[0]; give it another']);
    expect(refuse({ ...agent, ...paths[0], id: "mapping-2" }, { ...agent, ...paths[1] })).toEqual([
      'hooks.mappings[1].id: "mapping-2" is also the id of hooks.mappings[0]; give it another',
    ]);
  });

  it.each(["wake", "/agent/"])("warns of the path %j, which a built-in endpoint owns", (path) => {
    expect(warningsOf({ ...agent, match: { path } })).toEqual([
      `hooks.mappings[0].match.path: "${path.replaceAll("/", "")}" is a built-in endpoint, which comes first: this mapping does not get its requests`,
    ]);
  });

  it.each(["a?b", "a#b", "grüße", "a b", "100%"])("warns of the path %j, which no request can have", (path) => {
    expect(warningsOf({ ...agent, match: { path } })).toEqual([
      `hooks.mappings[0].match.path: "${path}" can never match: paths are compared as they are sent, with ? and # cut off and the rest percent-encoded`,
    ]);
  });

  it.each(["wake/x", "github/push", "gr%C3%BC%C3%9Fe", "a.b~c_d", "Agent", "/", ""])(
    "has nothing against the path %j",
    (path) => {
      expect(warningsOf({ ...agent, match: { path } })).toEqual([]);
    },
  );

  it("warns of a mapping that an earlier one shadows", () => {
    expect(warningsOf({ ...agent, match: { path: "a" } }, { ...agent, match: { path: "a/", source: "s" } })).toEqual([
      "hooks.mappings[1]: never takes effect: hooks.mappings[0] takes all its requests",
    ]);
  });

  it.each([
    [{ ...wake, messageTemplate: "m" }, "messageTemplate", "wake"],
    [{ ...wake, to: "t" }, "to", "wake"],
    [{ ...wake, model: "m" }, "model", "wake"],
    [{ ...wake, thinking: "low" }, "thinking", "wake"],
    [{ ...wake, timeoutSeconds: 5 }, "timeoutSeconds", "wake"],
    [{ ...agent, textTemplate: "t" }, "textTemplate", "agent"],
  ])("warns of %j, a key that the action does not read", (mapping, key, action) => {
    expect(warningsOf(mapping)).toEqual([`hooks.mappings[0].${key}: has no effect with the action ${action}`]);
    expect(warningsOf({ ...mapping, transform: { module: "a.js" } })).toEqual([]);
  });

  it("spec 2.1: warns of allowUnsafeExternalContent, naming the flag", () => {
    const told =
      "is true: content from outside reaches the agent without the boundary; set it only for sources whose every word you trust";
    expect(warningsOf({ ...agent, allowUnsafeExternalContent: true })).toEqual([
      `hooks.mappings[0].allowUnsafeExternalContent: ${told}`,
    ]);
    expect(warningsOf({ ...agent, allowUnsafeExternalContent: false })).toEqual([]);
    expect(read({ gmail: { allowUnsafeExternalContent: true } }).warnings).toEqual([
      `hooks.gmail.allowUnsafeExternalContent: ${told}`,
    ]);
  });

  it("refuses an agent that the gateway does not have, and names those that it has", () => {
    expect(refuse({ ...agent, agentId: "nobody" })).toEqual([
      'hooks.mappings[0].agentId: no agent is called "nobody"; there are main, Ops',
    ]);
    expect(refuse({ ...wake, agentId: "nobody" })).toHaveLength(1);
    expect(warningsOf({ ...agent, agentId: " ops " }, { ...agent, match: { path: "b" }, agentId: "main" })).toEqual([
      "hooks.mappings[1]: never takes effect: hooks.mappings[0] takes all its requests",
    ]);
  });

  it("warns of an agent that hooks.allowedAgentIds does not allow", () => {
    const { warnings } = read({ allowedAgentIds: ["main"], mappings: [{ ...agent, agentId: "ops" }] });
    expect(warnings).toEqual([
      "hooks.mappings[0].agentId: is not in hooks.allowedAgentIds: calls that use it are answered 400",
    ]);
    expect(read({ allowedAgentIds: ["OPS"], mappings: [{ ...agent, agentId: "ops" }] }).warnings).toEqual([]);
  });

  it("knows an agent by every writing by which the gateway does, the default one included", () => {
    const known = (...list: readonly object[]) => context({ agents: agentCatalog({ agents: { list } }, "reveille") });
    const block = { allowedAgentIds: ["On Call"], mappings: [{ ...agent, agentId: "ON.CALL" }] };
    for (const gateway of [known({ id: "main" }, { id: "on-call" }), known({ id: "on-call" })]) {
      const { warnings, config } = read(block, gateway);
      expect(warnings).toEqual([]);
      expect(config.allowedAgentIds).toEqual(new Set(["on-call"]));
    }
    expect(read({ allowedAgentIds: ["客"] }, known({ id: "主" })).warnings).toHaveLength(1);
  });

  it("spec 2.3: refuses a fixed model that is not in the enforced list of the agent", () => {
    const line = (model: string, allowed: string): string =>
      `hooks.mappings[0].model: "${model}" is not one of the gateway's allowed models: ${allowed}`;
    const refuseModel = (mapping: object): string[] => refusalsOf({ mappings: [{ ...agent, ...mapping }] }, models);
    expect(refuseModel({ model: "acme/huge" })).toEqual([line("acme/huge", "acme/large, fast")]);
    expect(refuseModel({ model: "fast", agentId: "ops" })).toEqual([line("fast", "acme/small")]);
    expect(refuseModel({ model: " fast " })).toEqual([]);
    expect(refuseModel({ model: "{{model}}" })).toEqual([]);
    expect(refuse({ ...agent, model: "anything" })).toEqual([]);
  });

  it("refuses a model of the gmail preset that is not allowed, when the preset is enabled", () => {
    const gmail = { model: "acme/huge" };
    expect(refusalsOf({ gmail, presets: ["gmail"] }, models)).toEqual([
      'hooks.gmail.model: "acme/huge" is not one of the gateway\'s allowed models: acme/large, fast',
    ]);
    expect(refusalsOf({ gmail }, models)).toEqual([]);
    expect(refusalsOf({ gmail: { model: "fast" }, presets: ["gmail"] }, models)).toEqual([]);
  });

  it("refuses a fixed model that no run can use, when the gateway knows", () => {
    const agents = {
      ...catalog(),
      modelProblem: (model: string) => (model === "x/y" ? "names no provider" : undefined),
    };
    const refuseModel = (mapping: object): string[] =>
      refusalsOf({ mappings: [{ ...agent, ...mapping }] }, context({ agents }));
    expect(refuseModel({ model: "x/y" })).toEqual(["hooks.mappings[0].model: names no provider"]);
    expect(refuseModel({ model: "x/z" })).toEqual([]);
    expect(refuseModel({ model: "{{x/y}}" })).toEqual([]);
    const github = { github: { secret: GOOD_SECRET, model: "x/y" }, presets: ["github"] };
    expect(refusalsOf(github, context({ agents }))).toEqual(["hooks.github.model: names no provider"]);
  });

  it.each(["{{a", "{{a}}{{b", "{{a} and {{", "x {{payload.a} y"])(
    "refuses the template %j, whose placeholder has no end",
    (text) => {
      for (const key of ["messageTemplate", "name", "to", "thinking"]) {
        expect(refuse({ ...agent, [key]: text })[0]).toMatch(
          new RegExp(`^hooks\\.mappings\\[0\\]\\.${key}: the placeholder "\\{\\{.* is not closed; end it with \\}\\}$`),
        );
      }
    },
  );

  it.each([
    [{ coalesce: { key: "pr:{{number}", windowSeconds: 5 } }, "coalesce.key", "{{number}"],
    [{ respond: { body: "{{deliveryId" } }, "respond.body", "{{deliveryId"],
    [{ workspace: { git: "https://git.example.com/a.git", ref: "{{ref}" } }, "workspace.ref", "{{ref}"],
  ])("refuses %j, whose placeholder has no end", (keys, key, shown) => {
    expect(refuse({ ...agent, ...keys })).toEqual([
      `hooks.mappings[0].${key}: the placeholder "${shown}" is not closed; end it with }}`,
    ]);
  });

  it.each(["{{a}}", "a } b", "{ a }", "{{}}", '{"a":{"b":"{{c}}"}}'])("accepts the template %j", (messageTemplate) => {
    expect(refuse({ ...agent, messageTemplate })).toEqual([]);
  });

  it("refuses a channel that the gateway does not have", () => {
    expect(refuse({ ...agent, channel: "telegrm" })).toEqual([
      'hooks.mappings[0].channel: "telegrm" is not a channel of this gateway; known are last, console, telegram',
    ]);
    expect(refuse({ ...agent, channel: " Telegram " })).toEqual([]);
    expect(refuse({ ...agent, channel: "LAST" })).toEqual([]);
    expect(refuse({ ...agent, channel: "telegrm", deliver: false })).toEqual([]);
    expect(refuse({ ...wake, channel: "telegrm" })).toEqual([]);
  });

  it("refuses a preset that there is not", () => {
    expect(refusalsOf({ presets: ["gmail", "gmial"] })).toEqual([
      'hooks.presets[1]: "gmial" is not a preset; did you mean "gmail"?',
    ]);
  });

  it("compares nothing with the gateway while hooks are off, and still holds the block to its own rules", () => {
    const block = {
      enabled: false,
      presets: ["gmial"],
      gmail: { model: "acme/huge" },
      allowedAgentIds: ["nobody"],
      mappings: [{ ...agent, channel: "telegrm", model: "acme/huge", agentId: "nobody" }],
    };
    expect(read(block, models).warnings).toEqual([]);
    expect(read(block, models).config.allowedAgentIds).toEqual(new Set(["nobody"]));
    expect(refusalsOf({ ...block, path: "/" }, models)).toHaveLength(1);
  });
});
