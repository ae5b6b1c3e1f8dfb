import { describe, expect, it } from "vitest";
import { auditHooks } from "../../../../src/config/audit.ts";
import { type AgentExposure, type ExposedTurn, NO_EXPOSURE } from "../../../../src/core/exposure.ts";
import { github } from "../../../../src/presets/senders/github/github.ts";
import { catalog, context, GOOD_SECRET, PRESETS, read, refusalsOf } from "../hooks-context.ts";

/** `Ops` reads files and writes issues, but not without its tools; in its main session it asks. */
function exposure({ agentId, turn, permissions, tools, hasWorkspace }: ExposedTurn): AgentExposure {
  if (agentId !== "Ops" || permissions === "deny" || tools === "none") return NO_EXPOSURE;
  const reached = [...(hasWorkspace === true ? ["the workspace"] : []), "files"];
  return { private: reached, outward: ["issues"], isAsked: turn === "session" || permissions === "ask" };
}

const around = context({
  presets: new Map([...PRESETS, ["github", github]]),
  agents: { ...catalog(), exposure, extractionProblem: () => undefined },
  channels: [{ id: "chat", defaultTo: "me" }],
});
const hook = { preset: "github", secret: GOOD_SECRET };
const rowsOf = (mapping: object) =>
  read({ mappings: [{ ...hook, ...mapping }] }, around).config.exposures.filter(({ mappingId }) => mappingId !== null);
const verdictsOf = (mapping: object) =>
  rowsOf(mapping).map(({ levels, verdict, human }) => `${levels.join("+")}: ${verdict}${human ? ` (${human})` : ""}`);
const ALL = "unknown+known+trusted+owner";

const CLOSED = { schema: { type: "object", properties: { kind: { enum: ["bug", "wish"] } } } };
const OPEN = { schema: { type: "object", properties: { title: { type: "string", maxLength: 100 } } } };

describe("the Rule of Two at load", () => {
  it.each([
    ["free strings", { extract: OPEN }, "what others wrote (strings that a model takes from events of GitHub)"],
    ["a session that goes on", { extract: CLOSED, sessionMode: "persistent" }, "(what its session has read before)"],
    ["a workspace", { extract: CLOSED, workspace: { path: "/srv/work" } }, "(its workspace)"],
  ])("refuses an extraction with %s all the same", (_what, mapping, reads) => {
    expect(refusalsOf({ mappings: [{ ...hook, agentId: "Ops", ...mapping }] }, around).join("\n")).toContain(reads);
  });

  it("refuses a mapping with all three, and says what each is and what to write instead", () => {
    const [line, ...more] = refusalsOf({ mappings: [{ ...hook, agentId: "Ops" }] }, around);
    expect(more).toEqual([]);
    expect(line).toContain("hooks.mappings[0]: a run of the agent Ops has all three, with no person in between");
    expect(line).toContain("what others wrote (events of GitHub), reaches private data (files)");
    expect(line).toContain("acts outward (issues)");
    expect(line).toContain('or write acceptAllThree: "<your reason>"');
  });

  it.each([
    ["an agent without any of them", {}, [`${ALL}: two`]],
    ["no tools", { agentId: "Ops", tools: "none" }, [`${ALL}: asked (ask)`]],
    ["questions to the owner", { agentId: "Ops", permissions: "ask" }, [`${ALL}: asked (ask)`]],
    ["no agent", { agentId: "Ops", mode: "deliver" }, [`${ALL}: two`]],
    ["a wake, whose session asks", { agentId: "Ops", action: "wake" }, [`${ALL}: asked (ask)`]],
    ["a conversation that answers the owner", { sessionMode: "persistent" }, [`${ALL}: two`]],
    [
      "a conversation that answers the owner by name",
      { sessionMode: "persistent", channel: "chat", to: "me" },
      [`${ALL}: two`],
    ],
    ["a closed form", { agentId: "Ops", extract: CLOSED }, [`${ALL}: two`]],
    [
      "a closed form for those that no one knows, and questions for what others write",
      {
        agentId: "Ops",
        rights: { unknown: { extract: CLOSED }, known: { permissions: "ask" } },
      },
      ["unknown: two", "known+trusted+owner: asked (ask)"],
    ],
    ["the owner's reason", { agentId: "Ops", acceptAllThree: "a test" }, [`${ALL}: accepted`]],
    [
      "quarantine and rights",
      {
        agentId: "Ops",
        minLevel: "trusted",
        rights: { unknown: {}, trusted: { permissions: "deny" }, owner: { permissions: "ask" } },
      },
      ["unknown+known: asked (quarantine)", "trusted: asked (ask)", "owner: asked (ask)"],
    ],
  ])("takes %s", (_what, mapping, verdicts) => {
    expect(verdictsOf(mapping)).toEqual(verdicts);
  });

  it.each([
    [
      "a conversation that answers others",
      { sessionMode: "persistent", channel: "chat", to: "{{payload.x}}" },
      "recipient of its own on the channel chat",
    ],
    [
      "a conversation that falls back to others",
      { sessionMode: "persistent", fallback: { channel: "chat", to: "x" } },
      "recipient of its own",
    ],
    [
      "a conversation that a wait of the mapping continues",
      { respond: { wait: { sender: "github", withinSeconds: 60 } }, channel: "chat", to: "{{payload.x}}" },
      "recipient of its own on the channel chat",
    ],
    [
      "a conversation that answers its sender",
      { sessionMode: "persistent", respond: "result" },
      "the sender, which is answered",
    ],
    [
      "one level of several",
      { agentId: "Ops", rights: { unknown: { tools: "none" }, trusted: {} } },
      "at the levels trusted, owner",
    ],
    ["levels above the quarantine", { agentId: "Ops", minLevel: "owner" }, "at the level owner"],
    ["an agent of a level", { rights: { unknown: {}, owner: { agentId: "Ops" } } }, "at the level owner"],
  ])("refuses %s", (_what, mapping, words) => {
    expect(refusalsOf({ mappings: [{ ...hook, ...mapping }] }, around)).toEqual([expect.stringContaining(words)]);
  });

  it("weighs direct calls of the default agent", () => {
    const agents = { ...catalog(), exposure: (turn: ExposedTurn) => exposure({ ...turn, agentId: "Ops" }) };
    expect(refusalsOf({}, { ...around, agents })).toEqual([
      expect.stringMatching(/^hooks: a call of \/agent for the agent main has all three/),
    ]);
    expect(refusalsOf({ acceptAllThree: "callers are mine" }, { ...around, agents })).toEqual([]);
    expect(refusalsOf({ allowedAgentIds: ["Ops"], requireAllowedAgent: true }, { ...around, agents })).toEqual([]);
  });

  it("names each accepted mapping with its reason in the audit", () => {
    const { config } = read({ mappings: [{ ...hook, agentId: "Ops", acceptAllThree: "a private team" }] }, around);
    expect(auditHooks(config, around.gateway)).toContainEqual({
      id: "hooks.all_three_accepted",
      severity: "warning",
      path: "hooks.mappings[0].acceptAllThree",
      message:
        'accepts that a payload which persuades the agent reaches files and acts outward (issues): "a private team"',
    });
  });

  it("warns of a reason that nothing needs", () => {
    const { warnings } = read({ mappings: [{ ...hook, acceptAllThree: "just so" }] }, around);
    expect(warnings).toEqual([expect.stringMatching(/^hooks\.mappings\[0\]\.acceptAllThree: has no effect/)]);
  });

  it("refuses nothing where the host says nothing of its agents, and the audit says so", () => {
    const agents = { ...catalog(), exposure: undefined };
    const { config } = read({ mappings: [{ ...hook, agentId: "Ops" }] }, { ...around, agents });
    expect(config.exposures.map(({ verdict }) => verdict)).toEqual(["unknown", "unknown", "unknown"]);
    expect(auditHooks(config, around.gateway).map(({ id }) => id)).toContain("hooks.exposure_unknown");
  });
});
