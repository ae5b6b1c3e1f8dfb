/** What is missing outside of a configuration breaks the mappings that need it, and no other. */
import { describe, expect, it } from "vitest";
import { NO_EXPOSURE } from "../../../src/core/exposure.ts";
import type { HooksContext } from "../../../src/config/read-hooks.ts";
import { catalog, context, GOOD_SECRET, read, refusalsOf } from "./hooks-context.ts";

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

const MISSING = { env: "NOT_SET" };
const META_SECRET = `${GOOD_SECRET}${GOOD_SECRET}`;
const meta = { secret: META_SECRET, verifyToken: MISSING };

describe("a sender whose setting is a secret that is missing", () => {
  const own = { id: "own", preset: "meta", secret: META_SECRET };

  it.each<[string, object]>([
    ["an enabled preset", { presets: ["meta"], meta }],
    ["a named sender", { senders: { meta: { preset: "meta", ...meta } } }],
    ["a mapping with settings", { mappings: [{ ...own, id: "meta", settings: { verifyToken: MISSING } }] }],
    ["a mapping that takes those of the block", { mappings: [{ ...own, id: "meta" }], meta }],
  ])("is set aside alone as %s, at its own path", (_, block) => {
    const mappings = [...("mappings" in block ? (block.mappings as object[]) : []), good];
    const { config, warnings } = read({ ...block, mappings }, context({ working: new Map() }));
    const found = new Map(config.mappings.map(({ id, match, broken }) => [id, [match.path, broken !== undefined]]));
    expect(found).toEqual(
      new Map([
        ["good", ["good", false]],
        ["meta", ["meta", true]],
      ]),
    );
    expect(warnings).toEqual([expect.stringMatching(/verifyToken: .* is not set; this part is set aside/u)]);
    expect(refusalsOf({ ...block, mappings })).toEqual([
      expect.stringMatching(/verifyToken: the environment variable/u),
    ]);
  });

  it("keeps its whole version of before at a reload", () => {
    const block = { presets: ["meta"], meta };
    const before = read(block, context({ env: { NOT_SET: "the-verify-token" } })).config.mappings;
    const working = new Map(before.map((mapping) => [mapping.id, mapping]));
    const { mappings } = read(block, context({ working })).config;
    expect(mappings).toEqual([{ ...before[0], broken: undefined, kept: expect.stringContaining("is not set") }]);
  });

  it("is refused for what else is wrong with its settings", () => {
    const block = { presets: ["meta"], meta: { ...meta, legacy: "yes" } };
    expect(refusalsOf(block, context({ working: new Map() }))).toContainEqual(
      expect.stringMatching(/^hooks\.meta\.legacy/u),
    );
  });
});

describe("a part of hooks.<preset> that is missing", () => {
  const own = { id: "own", preset: "github", match: { path: "own" }, deliver: false };
  const named = { preset: "notion" };

  it("is no matter of a mapping of that preset, which has a channel of its own", () => {
    const block = { presets: ["github"], github: { secret: GOOD_SECRET, channel: "nowhere" }, mappings: [own] };
    expect(fates(block)).toEqual({ own: "works", github: "set aside" });
  });

  it("is no matter of a named sender of that preset, which takes nothing from there", () => {
    const block = { presets: ["notion"], notion: { secret: MISSING }, senders: { team: named } };
    expect(fates(block)).toEqual({ notion: "set aside", team: "works" });
    const settings = {
      presets: ["meta"],
      meta,
      senders: { team: { preset: "meta", ...meta, verifyToken: "of-the-team" } },
    };
    expect(fates(settings)).toEqual({ meta: "set aside", team: "works" });
  });

  it("is no matter of a mapping that has the setting itself", () => {
    const settings = { verifyToken: "of-the-mapping" };
    const mapping = { ...own, preset: "meta", secret: META_SECRET, settings };
    expect(fates({ presets: ["meta"], meta, mappings: [mapping] })).toEqual({ own: "works", meta: "set aside" });
  });
});

it.each(["", " \n"])("a secret whose variable is %j counts as missing, and the rest works", (EMPTY) => {
  const block = { presets: ["github"], github: { secret: { env: "EMPTY" } }, mappings: [good] };
  expect(fates(block, { env: { EMPTY } })).toEqual({ good: "works", github: "set aside" });
  expect(refusalsOf({ presets: ["github"], github: { secret: EMPTY } }, context({ working: new Map() }))).toEqual([
    "hooks.github.secret: is empty",
  ]);
});

describe("the version before of a mapping", () => {
  /** The runs of its agent may do everything that their mapping leaves them. */
  const powerful: HooksContext["agents"] = {
    ...catalog(),
    exposure: ({ permissions, turn }) =>
      turn === "session" || permissions === "deny"
        ? NO_EXPOSURE
        : { ...NO_EXPOSURE, private: ["files"], outward: ["the network"] },
  };
  const lowered = { ...good, permissions: "deny", deliver: true, channel: "nowhere" };
  const working = new Map(read({ mappings: [good] }).config.mappings.map((mapping) => [mapping.id, mapping]));

  it("stays while what it refers to is there", () => {
    expect(fates({ mappings: [lowered] }, { working })).toEqual({ good: "kept" });
  });

  it("is set aside when its agent has become able to do all three", () => {
    const block = { mappings: [lowered], acceptAllThree: "A test." };
    expect(fates(block, { working, agents: powerful })).toEqual({ good: "set aside" });
  });
});

it("a preset that is missing takes the id of no other mapping, whose budget it would take with it", () => {
  const mapping = { ...good, id: "acme", budget: { perHour: 5 } };
  const missing = [{ path: "hooks.presets[0]", message: "./acme.ts cannot be loaded", name: "acme" }];
  expect(fates({ presets: ["acme"], mappings: [mapping] }, { missing })).toEqual({
    acme: "works",
    "preset-acme": "set aside",
  });
});
