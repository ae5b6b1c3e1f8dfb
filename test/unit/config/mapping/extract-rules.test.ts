import { describe, expect, it } from "vitest";
import { github } from "../../../../src/presets/senders/github/github.ts";
import { catalog, context, GOOD_SECRET, PRESETS, read, refusalsOf } from "../hooks-context.ts";

const SCHEMA = { type: "object", properties: { title: { type: "string", maxLength: 100 } } };
const asked: object[] = [];
const extractionProblem = (of: { agentId: string; model: string | undefined }): string | undefined => {
  asked.push(of);
  return of.model === "local/gone" ? "is not there" : undefined;
};
const presets = new Map([...PRESETS, ["github", github]]);
const around = context({ presets, agents: { ...catalog(), extractionProblem } });
const hook = { preset: "github", secret: GOOD_SECRET };
const refuse = (changes: object, within = around): string =>
  refusalsOf({ mappings: [{ ...hook, ...changes }] }, within).join("\n");

describe("the extraction of a mapping", () => {
  it("is read, and its levels have their own", () => {
    const mapping = {
      ...hook,
      extract: { schema: SCHEMA, model: " local/small ", instructions: " Be brief. " },
      rights: { unknown: { extract: { schema: SCHEMA } }, trusted: {} },
    };
    const { extract, rights } = read({ mappings: [mapping] }, around).config.mappings[0]!;
    expect(extract).toMatchObject({ model: "local/small", instructions: "Be brief.", form: { type: "object" } });
    expect(rights?.known.extract).toMatchObject({ form: { type: "object" } });
    expect(rights?.owner.extract).toBeUndefined();
  });

  it("is read in the block of a preset", () => {
    const { config } = read(
      { presets: ["github"], github: { secret: GOOD_SECRET, extract: { schema: SCHEMA } } },
      around,
    );
    expect(config.mappings[0]!.extract).toMatchObject({ form: { type: "object" } });
  });

  it.each([
    [{ extract: { schema: { type: "string" } } }, "hooks.mappings[0].extract.schema: every string needs a bound"],
    [{ extract: { schema: SCHEMA, instructions: "Of {{title}}" } }, "extract.instructions: takes no placeholders"],
    [{ extract: { schema: SCHEMA, tools: "none" } }, "extract.tools: unknown key"],
    [{ extract: { schema: SCHEMA, model: "local/gone" } }, "hooks.mappings[0].extract: is not there"],
    [{ extract: { schema: SCHEMA }, action: "wake" }, "hooks.mappings[0].extract: needs the action agent"],
    [{ extract: { schema: SCHEMA }, mode: "deliver" }, "extract: cannot be used together with mode: deliver"],
    [{ extract: { schema: SCHEMA }, allowUnsafeExternalContent: true }, "together with allowUnsafeExternalContent"],
    [
      { rights: { unknown: { extract: { schema: SCHEMA } } }, action: "wake" },
      "rights.unknown.extract: needs the action agent",
    ],
    [{ rights: { unknown: { extract: { schema: {} } } } }, "rights.unknown.extract.schema: has none of the types"],
  ])("%j is refused", (changes, message) => {
    expect(refuse(changes)).toContain(message);
  });

  it("is refused by a gateway that has no model on its own, with the reason", () => {
    const plain = context({ presets, agents: catalog() });
    expect(refuse({ extract: { schema: SCHEMA } }, plain)).toContain(
      "hooks.mappings[0].extract: cannot be used with this gateway: it runs no model that is certain to have no tools, memory and channels",
    );
  });

  it("asks the gateway for the model of the agent that each level has", () => {
    asked.length = 0;
    read(
      { mappings: [{ ...hook, extract: { schema: SCHEMA }, rights: { unknown: {}, trusted: { agentId: "Ops" } } }] },
      around,
    );
    expect(asked).toEqual([
      { agentId: "main", model: undefined },
      { agentId: "Ops", model: undefined },
    ]);
  });
});
