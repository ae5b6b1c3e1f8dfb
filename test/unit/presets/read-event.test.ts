import { describe, expect, it } from "vitest";
import type { EventAuthor, PayloadContext } from "../../../src/core/delivery.ts";
import { definePreset } from "../../../src/presets/define-preset.ts";
import type { PresetDefinition } from "../../../src/presets/define-preset.ts";
import { readAnswer, readEvent, readMessage } from "../../../src/presets/read-event.ts";

const presetWith = (changes: Partial<PresetDefinition>) =>
  definePreset({
    name: "acme",
    title: "Acme",
    documentation: "https://example.com/webhooks",
    auth: { scheme: "token" },
    event: "body:type",
    deliveryId: { from: "body:id", signed: true },
    message: ({ event }) => `It was ${event ?? "nothing"}.`,
    samples: { event: { payload: {} } },
    setup: ["Paste {url}."],
    ...changes,
  });

const given: PayloadContext = {
  path: "acme",
  headers: { "x-event": "push" },
  query: {},
  payload: { type: "created", id: 7 },
  now: new Date(0),
};
const fail = (): never => {
  throw new Error("unforeseen");
};

describe("what a preset knows of a request", () => {
  it("is the event's name, its actor, the delivery's id and what the payload means", () => {
    const preset = presetWith({
      unwrap: (payload) => ({ ...(payload as object), unwrapped: true }),
      sender: () => ({ name: "ada", id: "u1", bot: false }),
      skip: ({ event, actor }) => `${event} by ${actor?.name}`,
    });
    expect(readEvent(preset, given, { plan: "x" })).toEqual({
      context: {
        ...given,
        payload: { type: "created", id: 7, unwrapped: true },
        event: "created",
        actor: { name: "ada", id: "u1", bot: false },
      },
      authors: [],
      deliveryId: "7",
      skip: "created by ada",
    });
  });

  it.each([{ id: "u1" }, "u1", [null], [{ id: "u1" }, "u2"]])(
    "counts authors that are no list of such as unknown: %j",
    (wrong) => {
      const preset = presetWith({ authors: () => wrong as unknown as readonly EventAuthor[] });
      expect(readEvent(preset, given, {}).authors).toEqual([{}]);
    },
  );

  it("is nothing where its code fails: the event continues all the same", () => {
    const broken = presetWith({
      unwrap: fail,
      event: fail,
      deliveryId: { from: fail, signed: false },
      sender: fail,
      authors: fail,
      skip: fail,
      message: fail,
      answer: fail,
    });
    expect(readEvent(broken, given, {})).toEqual({
      context: { ...given, event: undefined, actor: undefined },
      // Someone may have written it.
      authors: [{}],
      deliveryId: undefined,
      skip: undefined,
    });
    expect(readMessage(broken, { ...given, settings: {} })).toBe('Acme event\n{"type":"created","id":7}');
    expect(readAnswer(broken, given, {})).toBeUndefined();
  });

  it("is bounded, and a sender without a name is none", () => {
    const long = "x".repeat(10_000);
    const preset = presetWith({
      event: () => long,
      deliveryId: { from: () => long, signed: false },
      sender: () => ({ name: long, id: long, bot: true }),
      skip: () => long,
    });
    const { context, deliveryId, skip } = readEvent(preset, given, {});
    expect([context.event?.length, skip?.length]).toEqual([2_000, 200]);
    // Cut, two ids could be taken for one.
    expect(deliveryId).toBe(long);
    expect([context.actor?.name.length, context.actor?.id?.length]).toEqual([200, 200]);
    const nameless = presetWith({ sender: () => ({ name: "", bot: true }) });
    expect(readEvent(nameless, given, {}).context.actor).toBeUndefined();
  });
});

describe("the message of a preset", () => {
  it("is its own", () => {
    expect(readMessage(presetWith({}), { ...given, event: "created", settings: {} })).toBe("It was created.");
  });

  it("is never blank: without one it is the event and its payload", () => {
    const silent = presetWith({ message: () => "  " });
    expect(readMessage(silent, { ...given, event: "created", settings: {} })).toBe(
      'Acme event: created\n{"type":"created","id":7}',
    );
  });
});

describe("the answer of a preset", () => {
  it("is fixed, or made from the event and the settings", () => {
    expect(readAnswer(presetWith({ answer: { status: 204 } }), given, {})).toEqual({ status: 204 });
    const made = presetWith({
      answer: ({ event, settings }) => ({ status: 200, body: `${event} ${JSON.stringify(settings["a"])}` }),
    });
    expect(readAnswer(made, { ...given, event: "e" }, { a: 1 })).toEqual({ status: 200, body: "e 1" });
  });
});
