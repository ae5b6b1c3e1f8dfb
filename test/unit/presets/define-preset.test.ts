import { describe, expect, it } from "vitest";
import { BUILT_IN_PRESETS } from "../../../src/presets/built-in.ts";
import { definePreset } from "../../../src/presets/define-preset.ts";
import type { PresetDefinition } from "../../../src/presets/define-preset.ts";
import { readDirectly } from "../../../src/testing/preset-probe.ts";

const preset = (definition: Partial<PresetDefinition>) =>
  definePreset({
    name: "acme",
    title: "Acme",
    documentation: "https://acme.example.com/webhooks",
    auth: { scheme: "token" },
    samples: { event: { payload: {} } },
    setup: ["Paste {url}."],
    ...definition,
  });

describe("where the event is, in words", () => {
  it.each<[string, Partial<PresetDefinition>, string | undefined]>([
    ["the place in the request", { event: "body:type" }, "body:type"],
    ["the places in the request", { event: ["header:x-event", "body:action"] }, "header:x-event + body:action"],
    ["what the author says of a function", { event: () => "x", eventWhere: "type of the item" }, "type of the item"],
    ["the payload, of a function without words", { event: () => "x" }, "from the payload"],
    ["nothing without an event", { eventWhere: "type of the item" }, undefined],
  ])("is %s", (_, definition, where) => {
    expect(preset(definition).eventSource).toBe(where);
  });

  it.each(BUILT_IN_PRESETS.map(({ name, eventSource, deliveryIdSource }) => [name, eventSource, deliveryIdSource]))(
    "is described for the preset %s, with the place of the id",
    (_, ...sources) => {
      for (const source of sources) expect(source).not.toBe("from the payload");
    },
  );
});

describe("several places", () => {
  const places = ["header:x-first", "header:x-second"];
  const acme = preset({ event: places, deliveryId: { from: places, signed: true } });
  const read = (headers: Readonly<Record<string, string>>) => {
    const context = { path: "acme", headers, query: {}, payload: {}, now: new Date(0), settings: {} };
    return [acme.eventOf(context), acme.deliveryIdOf(context)];
  };

  it("give the event and the id when all have a value", () => {
    expect(read({ "x-first": "a", "x-second": "b" })).toEqual(["a.b", "a.b"]);
  });

  it("give an event, but no id, when one is missing or empty", () => {
    expect(read({ "x-first": "a" })).toEqual(["a", undefined]);
    expect(read({ "x-first": "a", "x-second": " " })).toEqual(["a", undefined]);
  });
});

describe("a definition that cannot be used", () => {
  it("is refused with all that is wrong with it", () => {
    const wrong = { name: "Acme!", title: " ", documentation: "http://acme.example.com", samples: {}, setup: [] };
    expect(() => preset(wrong)).toThrow(
      'The preset "Acme!" cannot be used: name must be lower case letters, digits and single hyphens; ' +
        "title is empty; documentation must be an https URL; setup has no step; samples has no sample.",
    );
  });

  // A module of the configuration's folder need not be checked by a compiler.
  it("is refused in words when parts of it are missing or of another kind", () => {
    expect(() => definePreset({ name: "acme" } as unknown as PresetDefinition)).toThrow(
      'The preset "acme" cannot be used: title is empty; documentation must be an https URL; auth must be an object or ' +
        "a function; setup has no step; samples has no sample.",
    );
    const odd = { event: 5, deliveryId: { from: {} }, sender: "ada", message: "hello", handshakes: {}, setup: "Paste" };
    expect(() => preset(odd as unknown as Partial<PresetDefinition>)).toThrow(
      'The preset "acme" cannot be used: setup has no step; event and deliveryId.from must be header:<name>, ' +
        "query:<name> or body:<path>, a list of those or a function; sender, message must be functions; handshakes must be a list.",
    );
  });

  it.each([{ MEMBER: "trust" }, { MEMBER: undefined }, "trusted", null])(
    "is refused when a role is no level: %j",
    (roles) => {
      const wrong = { vouchesForActors: true, roles } as unknown as Partial<PresetDefinition>;
      expect(() => preset(wrong)).toThrow("roles must name levels: unknown, known, trusted, owner");
    },
  );

  it.each<Partial<PresetDefinition>>([
    { event: "heeder:x-event" },
    { event: ["header:x-event", "type"] },
    { deliveryId: { from: "body:", signed: true } },
    { deliveryId: { from: ["header:x-id", "path"], signed: true } },
  ])("is refused when nothing could be found at a place: %j", (definition) => {
    expect(() => preset(definition)).toThrow("event and deliveryId.from must be header:<name>, query:<name>");
  });
});

describe("a part that fails at a payload", () => {
  const fail = (): never => {
    throw new TypeError("no such key");
  };
  const nothing = (): undefined => undefined;

  it.each<[string, Partial<PresetDefinition>]>([
    ["authors", { authors: fail }],
    ["written", { written: fail }],
    ["objects.held", { objects: { held: fail, approved: nothing } }],
    ["objects.approved", { objects: { held: nothing, approved: fail } }],
  ])("shows in the conformance kit: %s", (_, parts) => {
    expect(() => readDirectly(preset(parts), {}, { sample: { payload: {} } })).toThrow("no such key");
  });
});
