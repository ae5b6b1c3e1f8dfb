/** What is missing outside of a configuration breaks the mappings that need it, and no other. */
import { describe, expect, it } from "vitest";
import type { HooksContext } from "../../../src/config/read-hooks.ts";
import { context, read, refusalsOf } from "./hooks-context.ts";

const good = { id: "good", match: { path: "good" }, messageTemplate: "m", deliver: false };

/** Of each mapping, whether it works, is set aside or keeps its version of before. */
function fates(block: object, changes: Partial<HooksContext> = {}): Readonly<Record<string, string>> {
  const { config } = read(block, context({ working: new Map(), ...changes }));
  return Object.fromEntries(
    config.mappings.map(({ id, broken, kept }) => [id, kept ? "kept" : broken ? "set aside" : "works"]),
  );
}

describe("a mapping whose right as a whole cannot be kept", () => {
  const asking = { ...good, id: "asking", match: { path: "asking" }, permissions: "ask" };

  it("is set aside where no channel has a recipient for its questions, and the rest works", () => {
    expect(fates({ mappings: [asking, good] })).toEqual({ asking: "set aside", good: "works" });
    expect(refusalsOf({ mappings: [asking, good] })).toEqual([
      expect.stringMatching(/^hooks\.mappings\[0\]: asks by its permissions/u),
    ]);
  });
});
