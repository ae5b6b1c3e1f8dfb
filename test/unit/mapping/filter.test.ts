import { describe, expect, it } from "vitest";
import type { MappingConfig } from "../../../src/config/mapping/schema.ts";
import type { PayloadContext } from "../../../src/core/delivery.ts";
import { compileFilter } from "../../../src/mapping/filter.ts";
import { mappingOf, requestWith } from "./mappings.ts";

const { config } = mappingOf({ messageTemplate: "m" });
const OF_PRESET: Partial<MappingConfig> = { preset: "github" };
const missOf = (keys: Partial<MappingConfig>, changes: Partial<PayloadContext> = {}, payload: unknown = {}): unknown =>
  compileFilter({ ...config, ...keys })?.miss(requestWith(payload, changes));

const octocat = { name: "octocat", id: "583231", bot: false };
const bot = { name: "renovate[bot]", bot: true };

describe("a mapping's filter", () => {
  it("is none where nothing can be missed", () => {
    expect(compileFilter(config)).toBeUndefined();
    expect(compileFilter({ ...config, ...OF_PRESET, ignoreBots: false })).toBeUndefined();
  });

  it("takes the events it names and reports those that it does not", () => {
    const events = ["push", "pull_request.*"];
    expect(missOf({ events }, { event: "push" })).toBeUndefined();
    expect(missOf({ events }, { event: "pull_request.opened" })).toBeUndefined();
    expect(missOf({ events }, { event: "star.created" })).toBe('events: "star.created" is none of them');
    expect(missOf({ events })).toBe("events: the request's event is not known");
  });

  it("ignores senders by name and by id", () => {
    const ignoreActors = ["acme-*", "583231"];
    expect(missOf({ ignoreActors: ignoreActors }, { actor: octocat })).toBe(
      'ignoreActors: "583231" is the actor "octocat"',
    );
    expect(missOf({ ignoreActors: ignoreActors }, { actor: { name: "ACME-agent", bot: false } })).toBe(
      'ignoreActors: "acme-*" is the actor "ACME-agent"',
    );
    expect(missOf({ ignoreActors: ignoreActors }, { actor: { name: "someone", id: "5", bot: false } })).toBeUndefined();
    expect(missOf({ ignoreActors: ignoreActors })).toBeUndefined();
  });

  it("ignores bots where a preset recognizes them", () => {
    expect(missOf(OF_PRESET, { actor: bot })).toBe('ignoreBots: the actor "renovate[bot]" is a bot');
    expect(missOf(OF_PRESET, { actor: { ...octocat, bot: true, own: true } })).toBe(
      'ignoreBots: the actor "octocat" is the webhook\'s own app or account',
    );
    expect(missOf(OF_PRESET, { actor: octocat })).toBeUndefined();
    expect(missOf(OF_PRESET)).toBeUndefined();
    expect(missOf({ ...OF_PRESET, ignoreBots: false }, { actor: bot })).toBeUndefined();
  });

  it("asks for events, then for senders, then for bots, then for the condition", () => {
    const all = { ...OF_PRESET, events: ["push"], ignoreActors: ["renovate*"], when: "payload.a == 1" };
    const clauseOf = (keys: Partial<MappingConfig>, event: string): unknown =>
      String(missOf(keys, { event, actor: bot }, { a: 2 })).split(":")[0];
    expect(clauseOf(all, "star")).toBe("events");
    expect(clauseOf(all, "push")).toBe("ignoreActors");
    expect(clauseOf({ ...all, ignoreActors: [] }, "push")).toBe("ignoreBots");
    expect(clauseOf({ ...all, ignoreActors: [], ignoreBots: false }, "push")).toBe("when");
    expect(
      missOf({ ...all, ignoreActors: [], ignoreBots: false }, { event: "push", actor: bot }, { a: 1 }),
    ).toBeUndefined();
  });

  it("cuts the values that its reasons show, and shows them on one line", () => {
    const long = `a\n${"x".repeat(150)}`;
    expect(missOf({ events: ["push"] }, { event: long })).toBe(`events: "a ${"x".repeat(98)}..." is none of them`);
    const sender = { name: long, bot: true };
    expect(missOf(OF_PRESET, { actor: sender })).toBe(`ignoreBots: the actor "a ${"x".repeat(98)}..." is a bot`);
  });
});
