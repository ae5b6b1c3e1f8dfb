import { Type } from "@sinclair/typebox";
import { describe, expect, it } from "vitest";
import { definePreset } from "../../src/presets/define-preset.ts";
import { object, recursive, string, union } from "../fixtures/sinclair-typebox.ts";

describe("the schemas of @sinclair/typebox that the default run uses", () => {
  it("are those of the library", () => {
    const properties = { plan: Type.String({ minLength: 2 }), key: Type.String() };
    expect(object({ plan: string({ minLength: 2 }), key: string() }, { additionalProperties: false })).toEqual(
      Type.Object(properties, { additionalProperties: false }),
    );
    expect(recursive).toEqual(Type.Recursive((This) => Type.Object({ next: Type.Optional(This) })));
    expect(union).toEqual(Type.Union([Type.Record(Type.String(), Type.Number()), Type.Null()]));
  });

  it("declare the settings of a preset, as the compiler sees it", () => {
    const { name } = definePreset({
      name: "acme",
      title: "Acme",
      documentation: "https://acme.example.com/webhooks",
      auth: { scheme: "token" },
      settings: Type.Object({ plan: Type.String() }),
      message: () => "Something happened.",
      samples: { event: { payload: {} } },
      setup: ["Paste {url}."],
    });
    expect(name).toBe("acme");
  });
});
