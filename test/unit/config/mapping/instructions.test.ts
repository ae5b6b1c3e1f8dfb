import { describe, expect, it } from "vitest";
import { GOOD_SECRET, read, refusalsOf } from "../hooks-context.ts";

const mapping = { match: { path: "ci" }, messageTemplate: "{{text}}" };
const github = { secret: GOOD_SECRET };
const instructionsOf = (block: object): (string | undefined)[] =>
  read(block).config.mappings.map(({ instructions }) => instructions);

describe("the owner's instructions", () => {
  it("are those of the mapping, without white space around them", () => {
    expect(instructionsOf({ mappings: [{ ...mapping, instructions: " Find out why.\n" }, mapping] })).toEqual([
      "Find out why.",
      undefined,
    ]);
  });

  it("are a preset's own unless its owner replaces them, or leaves them out", () => {
    const [own] = instructionsOf({ presets: ["github"], github });
    expect(own).toContain("GitHub");
    expect(instructionsOf({ presets: ["github"], github: { ...github, instructions: "Review it." } })).toEqual([
      "Review it.",
    ]);
    expect(instructionsOf({ presets: ["github"], github: { ...github, instructions: "" } })).toEqual([undefined]);
    expect(instructionsOf({ presets: ["github"], github: { ...github, action: "wake" } })).toEqual([undefined]);
  });

  it("take no placeholder, wherever they are written", () => {
    const text = "Look at {{text}}.";
    expect(refusalsOf({ mappings: [{ ...mapping, instructions: text }] }).join()).toContain(
      "hooks.mappings[0].instructions: takes no placeholders",
    );
    expect(refusalsOf({ agentInstructions: text }).join()).toContain("hooks.agentInstructions: takes no placeholders");
    expect(refusalsOf({ presets: ["github"], github: { ...github, instructions: text } }).join()).toContain(
      "hooks.github.instructions: takes no placeholders",
    );
  });

  it("have no effect on a wake, and the configuration says so", () => {
    const wake = { match: { path: "ci" }, action: "wake", textTemplate: "{{text}}", instructions: "Read it." };
    expect(read({ mappings: [wake] }).warnings.join("\n")).toContain("has no effect with the action wake");
  });
});
