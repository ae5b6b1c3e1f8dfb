import { describe, expect, it } from "vitest";
import { chooseAgent } from "../../../src/policy/agent.ts";
import { gatewayOf } from "./gateway-parts.ts";

const { agents } = gatewayOf();
const choose = (requested: string | undefined, ...allowed: (readonly string[])[]): unknown =>
  chosen(requested, allowed[0], false);
const chosen = (requested: string | undefined, ids: readonly string[] | undefined, require: boolean): unknown => {
  const rules = { allowedAgentIds: ids && new Set(ids), requireAllowedAgent: require };
  const agent = chooseAgent(agents, rules, requested);
  return typeof agent === "string" ? agent : agent.refused;
};

describe("the agent of a run", () => {
  it("is the default agent when none is asked for", () => {
    expect(choose(undefined)).toBe("main");
  });

  it("spec 2.3: agentId routes the hook to a specific agent", () => {
    expect(choose("ops")).toBe("ops");
  });

  it("spec 4.2: is the default agent when the agentId is unknown", () => {
    expect(choose("nobody")).toBe("main");
    expect(choose("")).toBe("main");
    expect(choose("__proto__")).toBe("main");
  });

  it("spec 2.1: may be any agent when hooks.allowedAgentIds is omitted", () => {
    expect(choose("ops")).toBe("ops");
    expect(choose("main")).toBe("main");
  });

  it("spec 2.1: may not be chosen at all when hooks.allowedAgentIds is []", () => {
    expect(choose("ops", [])).toBe("AGENT_NOT_ALLOWED");
    expect(choose("main", [])).toBe("AGENT_NOT_ALLOWED");
    expect(choose("nobody", [])).toBe("AGENT_NOT_ALLOWED");
  });

  it("spec 4.2: may only be a listed one when there is a list", () => {
    expect(choose("ops", ["ops"])).toBe("ops");
    expect(choose("main", ["ops"])).toBe("AGENT_NOT_ALLOWED");
  });

  it("is checked as the agent that the id resolves to, so that spelling it otherwise gains nothing", () => {
    expect(choose("OPS", ["ops"])).toBe("ops");
    expect(choose("OPS", ["main"])).toBe("AGENT_NOT_ALLOWED");
    expect(choose("nobody", ["ops"])).toBe("AGENT_NOT_ALLOWED");
    expect(choose("nobody", ["main"])).toBe("main");
  });

  it("spec 2.1: is not checked against the list when none is asked for: the list governs explicit agentId routing", () => {
    expect(choose(undefined, [])).toBe("main");
    expect(choose(undefined, ["ops"])).toBe("main");
  });

  it("must be on the list, also when none is asked for, where requireAllowedAgent says so", () => {
    expect(chosen(undefined, [], true)).toBe("AGENT_NOT_ALLOWED");
    expect(chosen(undefined, ["ops"], true)).toBe("AGENT_NOT_ALLOWED");
    expect(chosen(undefined, ["main"], true)).toBe("main");
    expect(chosen(undefined, undefined, true)).toBe("main");
  });
});
