import { describe, expect, it } from "vitest";
import { compileMapping } from "../../../src/mapping/compile-mapping.ts";
import type { CompiledMapping } from "../../../src/mapping/compile-mapping.ts";
import { MappingIndex, trimSlashes } from "../../../src/mapping/index-mappings.ts";
import { gmail } from "../../../src/presets/senders/google/gmail.ts";
import type { MappingInput } from "../../../src/config/hooks.ts";
import { read } from "../config/hooks-context.ts";
import { mappingOf, mappingsOf } from "./mappings.ts";

function indexOf(...inputs: readonly MappingInput[]): MappingIndex {
  return new MappingIndex(mappingsOf(...inputs), { maxBodyBytes: 1_000 });
}

const ids = (index: MappingIndex, path: string, payload: unknown = {}): string | undefined =>
  index.resolve(path, payload)?.config.id;

describe("the mapping of a request", () => {
  it("spec 4.3: <name> is a custom hook name resolved through hooks.mappings", () => {
    const index = indexOf({ id: "gh", match: { path: "github" } }, { id: "st", match: { path: "stripe" } });
    expect(ids(index, "stripe")).toBe("st");
    expect(ids(index, "github")).toBe("gh");
    expect(ids(index, "gitlab")).toBeUndefined();
  });

  it("spec 4.3: routing on a generic ingest endpoint is driven by the payload through match.source", () => {
    const index = indexOf(
      { id: "from-a", match: { path: "ingest", source: "a" } },
      { id: "from-b", match: { path: "ingest", source: "b" } },
      { id: "rest", match: { path: "ingest" } },
    );
    expect(ids(index, "ingest", { source: "b" })).toBe("from-b");
    expect(ids(index, "ingest", { source: "a" })).toBe("from-a");
    expect(ids(index, "ingest", { source: "c" })).toBe("rest");
    expect(ids(index, "ingest", {})).toBe("rest");
  });

  it("is the first of several that match, however special a later one is", () => {
    const index = indexOf(
      { id: "any-path", match: { source: "a" } },
      { id: "both", match: { path: "x", source: "a" } },
      { id: "any-source", match: { path: "x" } },
    );
    expect(ids(index, "x", { source: "a" })).toBe("any-path");
    expect(ids(index, "x", { source: "b" })).toBe("any-source");
  });

  it("is the special one when that comes first", () => {
    const index = indexOf(
      { id: "both", match: { path: "x", source: "a" } },
      { id: "any-source", match: { path: "x" } },
      { id: "all" },
    );
    expect(ids(index, "x", { source: "a" })).toBe("both");
    expect(ids(index, "x", {})).toBe("any-source");
    expect(ids(index, "y", { source: "a" })).toBe("all");
  });

  it("is the first of two that say the same", () => {
    const same: MappingInput = { match: { path: "x", source: "a" } };
    expect(ids(indexOf({ ...same, id: "first" }, { ...same, id: "second" }), "x", { source: "a" })).toBe("first");
    expect(ids(indexOf({ id: "first" }, { id: "second" }), "x")).toBe("first");
  });

  it("spec 4.3: is one of the operator's own before one of an enabled preset", () => {
    const { mappings } = read({ presets: ["gmail"] }).config;
    const presets = mappings.map((config) => compileMapping(config, undefined, gmail));
    const own = mappingOf({ id: "mine", match: { path: "gmail", source: "test" } });
    const index = new MappingIndex([own, ...presets], { maxBodyBytes: 1_000 });
    expect(ids(index, "gmail", { source: "test" })).toBe("mine");
    expect(ids(index, "gmail", { messages: [] })).toBe("gmail");
  });

  it.each([
    ["github", "github/"],
    ["github/push", "/github/push//"],
    ["/github/", "github"],
  ])("configured for %j takes %j: slashes at both ends count for nothing", (configured, sent) => {
    expect(ids(indexOf({ id: "it", match: { path: configured } }), sent)).toBe("it");
  });

  it.each(["GitHub", "github//push", "github/push/more", "githu", "gith%75b", " github"])(
    "configured for github and github/push does not take %j",
    (sent) => {
      const index = indexOf({ match: { path: "github" } }, { match: { path: "github/push" } });
      expect(index.resolve(sent, {})).toBeUndefined();
    },
  );

  it.each(["", "/", "//"])("configured for the path %j takes every path", (path) => {
    expect(ids(indexOf({ id: "all", match: { path, source: "" } }), "whatever", { source: "x" })).toBe("all");
  });

  it.each<[string, unknown]>([
    ["a number", { source: 1 }],
    ["a list that prints the same", { source: ["a"] }],
    ["another case", { source: "A" }],
    ["with a blank", { source: "a " }],
    ["null", { source: null }],
    ["inherited", Object.create({ source: "a" })],
    ["of an array payload", ["a"]],
    ["of no payload at all", null],
    ["of a text", "a"],
  ])("with a source does not take one that is %s", (_case, payload) => {
    expect(indexOf({ match: { path: "x", source: "a" } }).resolve("x", payload)).toBeUndefined();
  });

  it.each(["__proto__", "constructor", "toString"])("is not found under the inherited name %j", (name) => {
    const index = indexOf({ match: { path: "x", source: "a" } });
    expect(index.resolve(name, { source: name })).toBeUndefined();
    expect(index.bodyRules(name)).toBeUndefined();
  });

  it("is none when there are no mappings", () => {
    expect(indexOf().resolve("x", {})).toBeUndefined();
    expect(indexOf().bodyRules("x")).toBeUndefined();
  });
});

describe("10,000 mappings", () => {
  /** Counts how often any mapping's `match` is looked at. */
  function counted(inputs: readonly MappingInput[]): { mappings: CompiledMapping[]; looks: () => number } {
    let looks = 0;
    const mappings = mappingsOf(...inputs).map((mapping): CompiledMapping => {
      const { match, ...rest } = mapping.config;
      const config = {
        ...rest,
        get match() {
          looks++;
          return match;
        },
      };
      return { ...mapping, config };
    });
    return { mappings, looks: () => looks };
  }

  const inputs = Array.from({ length: 10_000 }, (_, at): MappingInput => ({ match: { path: `p${at}`, source: "s" } }));

  it("are indexed by one look at each, and resolved without looking at any", () => {
    const { mappings, looks } = counted(inputs);
    const index = new MappingIndex(mappings, { maxBodyBytes: 1 });
    expect(looks()).toBe(10_000);
    for (const at of [0, 1, 4_999, 9_999]) {
      expect(index.resolve(`p${at}`, { source: "s" })).toBe(mappings[at]);
      expect(index.bodyRules(`p${at}`)).toEqual({ maxBodyBytes: 1, accept: ["json"] });
    }
    expect(index.resolve("p10000", { source: "s" })).toBeUndefined();
    expect(looks()).toBe(10_000);
  });

  it("of one path are distinguished by their source in the same way", () => {
    const { mappings, looks } = counted(inputs.map((_, at) => ({ match: { path: "p", source: `s${at}` } })));
    const index = new MappingIndex(mappings, { maxBodyBytes: 1 });
    expect(index.resolve("p", { source: "s9999" })).toBe(mappings[9_999]);
    expect(looks()).toBe(10_000);
  });
});

describe("what is known of a body before it is parsed", () => {
  it("is the default limit and JSON, for a mapping that says nothing", () => {
    const index = indexOf({ match: { path: "x" } });
    expect(index.bodyRules("x")).toEqual({ maxBodyBytes: 1_000, accept: ["json"] });
    expect(index.bodyRules("/x/")).toEqual({ maxBodyBytes: 1_000, accept: ["json"] });
    expect(index.bodyRules("y")).toBeUndefined();
  });

  it("is the widest of all mappings that could own the request", () => {
    const index = indexOf(
      { match: { path: "x", source: "a" }, maxBodyBytes: 5_000 },
      { match: { path: "x" }, maxBodyBytes: 10, accept: ["form"] },
      { match: { source: "b" }, maxBodyBytes: 9_000, accept: ["text", "form"] },
    );
    const { maxBodyBytes, accept } = index.bodyRules("x")!;
    expect(maxBodyBytes).toBe(9_000);
    expect(accept.toSorted()).toEqual(["form", "json", "text"]);
    expect(index.bodyRules("elsewhere")).toEqual({ maxBodyBytes: 9_000, accept: ["text", "form"] });
  });

  it("does not let the mappings of one path widen another", () => {
    const index = indexOf({ match: { path: "x" }, maxBodyBytes: 5_000 }, { match: { path: "y" }, accept: ["text"] });
    expect(index.bodyRules("y")).toEqual({ maxBodyBytes: 1_000, accept: ["text"] });
  });

  it("is exactly its own once the owner is known, be that more or less than the default", () => {
    const mappings = mappingsOf({ maxBodyBytes: 10, accept: ["form"] }, { maxBodyBytes: 2_000 }, {});
    const index = new MappingIndex(mappings, { maxBodyBytes: 1_000 });
    expect(mappings.map((mapping) => index.rulesOf(mapping))).toEqual([
      { maxBodyBytes: 10, accept: ["form"] },
      { maxBodyBytes: 2_000, accept: ["json"] },
      { maxBodyBytes: 1_000, accept: ["json"] },
    ]);
  });
});

describe("trimSlashes", () => {
  it.each([
    ["", ""],
    ["///", ""],
    ["a", "a"],
    ["/a//b/", "a//b"],
  ])("makes %j %j", (path, trimmed) => {
    expect(trimSlashes(path)).toBe(trimmed);
  });

  it("copes with a path of nothing but a million slashes around a word", () => {
    const slashes = "/".repeat(500_000);
    expect(trimSlashes(`${slashes}a${slashes}`)).toBe("a");
  });
});
