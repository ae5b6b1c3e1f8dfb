import { describe, expect, it } from "vitest";
import { eventActor, hasBotMark } from "../../../src/presets/event-fields.ts";

describe("who caused an event", () => {
  it("is absent without a name", () => {
    expect(eventActor("", "7", true)).toBeUndefined();
  });

  it("has an id only if that says more than the name", () => {
    expect(eventActor("ada", "7", true)).toEqual({ name: "ada", id: "7", bot: true });
    expect(eventActor("7", "7")).toEqual({ name: "7", bot: false });
    expect(eventActor("ada")).toEqual({ name: "ada", bot: false });
  });
});

describe("the sign of a bot", () => {
  it.each<[string, boolean]>([
    ["dependabot[bot]", true],
    ["Renovate[BOT]", true],
    ["ada", false],
    ["[bot]ada", false],
    ["", false],
  ])("at the end of %j: %j", (login, marked) => {
    expect(hasBotMark(login)).toBe(marked);
  });
});
