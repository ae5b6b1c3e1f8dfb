import { describe, expect, it } from "vitest";
import type { AskedRights } from "../../../../src/core/host.ts";
import { github } from "../../../../src/presets/senders/github/github.ts";
import { catalog, context, GOOD_SECRET, PRESETS, read, refusalsOf } from "../hooks-context.ts";

const presets = new Map([...PRESETS, ["github", github]]);
const hook = { preset: "github", secret: GOOD_SECRET };
const asked: AskedRights[] = [];
const agents = {
  ...catalog(),
  rightsProblem: (of: AskedRights) => {
    asked.push(of);
    return of.egress === undefined && of.permissions !== "reads" ? undefined : "cannot do that";
  },
};

describe("rights that a gateway cannot enforce", () => {
  it.each([
    [{ permissions: "reads" }, "hooks.mappings[0]: cannot be held to its rights here: this gateway cannot do that"],
    [{ rights: { unknown: { egress: [] }, owner: {} } }, "hooks.mappings[0].rights.unknown: cannot be held to here"],
    [{ rights: { unknown: {}, trusted: { permissions: "reads" } } }, "hooks.mappings[0].rights.trusted: cannot be"],
    [{ action: "wake", permissions: "reads" }, "hooks.mappings[0]: cannot be held to its rights here"],
  ])("refuse the mapping with %j, once", (changes, message) => {
    const lines = refusalsOf({ mappings: [{ ...hook, ...changes }] }, context({ presets, agents }));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(message);
  });

  it("are asked for as each level leaves them", () => {
    asked.length = 0;
    const mapping = {
      ...hook,
      permissions: "deny",
      workspace: { path: "/srv" },
      rights: { unknown: { workspace: false }, owner: { tools: "none" } },
    };
    read({ mappings: [mapping] }, context({ presets, agents }));
    const rights = { kind: "agent", permissions: "deny", egress: undefined };
    expect(asked).toEqual([
      { ...rights, tools: undefined, hasWorkspace: true },
      { ...rights, tools: undefined, hasWorkspace: false },
      { ...rights, tools: "none", hasWorkspace: true },
    ]);
  });
});

describe("permissions that ask", () => {
  const channels = [{ id: "chat" }];

  it.each([
    { permissions: "ask" },
    { permissions: "ask", action: "wake" },
    { rights: { unknown: { permissions: "ask" } }, action: "wake" },
  ])("are refused where no channel carries the question: %j", (changes) => {
    const around = context({ presets, channels });
    expect(refusalsOf({ mappings: [{ ...hook, deliver: false, ...changes }] }, around).join()).toContain(
      "asks by its permissions, and no channel has a recipient for the questions",
    );
  });

  it("are taken where one does", () => {
    const around = context({ presets, channels: [{ id: "chat", defaultTo: "me" }] });
    expect(read({ mappings: [{ ...hook, permissions: "ask", action: "wake" }] }, around).warnings).toEqual([]);
  });
});
