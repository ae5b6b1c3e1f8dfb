import { describe, expect, it } from "vitest";
import { editedHooks } from "../../../../src/config/mapping/edit.ts";
import type { MappingConfig } from "../../../../src/config/mapping/schema.ts";
import { GOOD_SECRET, read } from "../hooks-context.ts";

const KEYS = {
  action: "agent",
  instructions: "Look at it.",
  when: 'payload.kind == "bug"',
  minLevel: "trusted",
  deliver: false,
  priority: "low",
} as const;

/** The only mapping of a block before and after an edit of its template. */
function edited(hooks: object, change: object = {}): { readonly before: MappingConfig; readonly after: MappingConfig } {
  const { mappings } = read(hooks).config;
  const [before] = mappings;
  const edit = { id: before?.id ?? "", messageTemplate: "Seen: {{title}}", ...change };
  const after = read(editedHooks(hooks, { mappings: [edit] }, mappings) as object).config.mappings[0];
  if (before === undefined || after === undefined) throw new Error("there is no mapping");
  return { before, after };
}

/** What an own mapping with the preset has of itself. */
const OWN = { id: "", where: "", sender: "", messageTemplate: "" };

describe("an edit of a preset's mapping", () => {
  it("keeps every other key that the preset's block has", () => {
    const { before, after } = edited({ presets: ["github"], github: { secret: GOOD_SECRET, path: "gh", ...KEYS } });
    expect(after).toMatchObject({ where: "hooks.mappings[0]", messageTemplate: "Seen: {{title}}", deliver: false });
    expect({ ...after, ...OWN }).toEqual({ ...before, ...OWN });
  });

  it("keeps those of a named sender, and its settings and secret", () => {
    const meta = { preset: "meta", path: "shop", secret: GOOD_SECRET, verifyToken: "verify-token-here", legacy: true };
    const { before, after } = edited({ senders: { shop: { ...meta, ...KEYS, minLevel: undefined } } });
    expect(after).toMatchObject({ where: "hooks.mappings[0]", messageTemplate: "Seen: {{title}}", when: KEYS.when });
    expect({ ...after, ...OWN }).toEqual({ ...before, ...OWN });
  });

  it("removes one of them by null, and takes another value", () => {
    const block = { presets: ["github"], github: { secret: GOOD_SECRET, ...KEYS } };
    expect(edited(block, { when: null, priority: "high" }).after).toMatchObject({ when: undefined, priority: "high" });
  });

  it("leaves settings of the preset to the preset, also those that are named like a mapping's key", () => {
    const { before, after } = edited({ presets: ["gmail"], gmail: { model: "fast", thinking: "low" } });
    expect({ ...after, ...OWN }).toEqual({ ...before, ...OWN });
  });
});

describe("an edit of the whole block", () => {
  const written = { token: "the-active-token", github: { secret: "s" }, mappings: [{ id: "a", name: "Old" }] };

  it("has the active value where its text is a variable of the file, and every other text as it is", () => {
    const hooks = {
      token: "${TOKEN}",
      github: { secret: "${SECRET}" },
      gitlab: { secret: "${OTHER}" },
      mappings: [{ id: "a", name: "New ${NAME}" }],
    };
    expect(editedHooks(written, { hooks }, [])).toEqual({
      token: "the-active-token",
      github: { secret: "s" },
      gitlab: { secret: "${OTHER}" },
      mappings: [{ id: "a", name: "New ${NAME}" }],
    });
  });
});
