import { describe, expect, it } from "vitest";
import { github } from "../../../../src/presets/senders/github/github.ts";
import { context, GOOD_SECRET, PRESETS, read, refusalsOf } from "../hooks-context.ts";

const around = context({ presets: new Map([...PRESETS, ["github", github]]) });
const hook = { preset: "github", secret: GOOD_SECRET };
const rightsOf = (rights: object) => read({ mappings: [{ ...hook, rights }] }, around).config.mappings[0]!.rights!;
const refuse = (changes: object): string => refusalsOf({ mappings: [{ ...hook, ...changes }] }, around).join("\n");

describe("rights by level", () => {
  it("are those of the next lower level where a level has none of its own", () => {
    const rights = rightsOf({ unknown: { permissions: "deny" }, trusted: { permissions: "reads", agentId: "ops" } });
    expect(rights.unknown).toMatchObject({ permissions: "deny", agentId: undefined });
    expect(rights.known).toBe(rights.unknown);
    expect(rights.trusted).toMatchObject({ permissions: "reads", agentId: "ops" });
    expect(rights.owner).toBe(rights.trusted);
  });

  it.each([
    [{ rights: { trusted: {} } }, "hooks.mappings[0].rights.unknown: is required"],
    [{ rights: { unknown: { agentId: "nobody" } } }, 'rights.unknown.agentId: no agent is called "nobody"'],
    [{ rights: { unknown: {}, owner: { channel: "irc" } } }, 'rights.owner.channel: "irc" is not a channel'],
    [
      { rights: { unknown: { permissions: { allow: [{ path: "/etc" }] } } } },
      "rights.unknown.permissions.allow[0].path",
    ],
    [{ rights: { unknown: { workspace: true } } }, "rights.unknown.workspace"],
    [{ rights: { unknown: {}, owner: { permissions: "ask" } } }, "no channel has a recipient for the questions"],
    [{ permissions: "ask" }, "no channel has a recipient for the questions"],
    [{ preset: undefined, match: { path: "x" }, messageTemplate: "m", rights: { unknown: {} } }, "without preset"],
  ])("%j is refused", (changes, message) => {
    expect(refuse(changes)).toContain(message);
  });

  it("are taken with a wake, whose session they lower", () => {
    const { warnings } = read({ mappings: [{ ...hook, action: "wake", rights: { unknown: {} } }] }, around);
    expect(warnings).toEqual([]);
  });
});
