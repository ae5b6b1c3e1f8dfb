import { describe, expect, it } from "vitest";
import type { PayloadContext } from "../../../../src/core/delivery.ts";
import { compileMapping } from "../../../../src/mapping/compile-mapping.ts";
import { filter } from "../../../../src/ingress/stages/filter.ts";
import type { Resolved } from "../../../../src/ingress/stages/resolve.ts";
import { mappingOf, requestWith } from "../../mapping/mappings.ts";

const { config } = mappingOf({ messageTemplate: "m" });
const resolved = (keys: Partial<Resolved>, changes: Partial<PayloadContext> = {}): Resolved => ({
  route: compileMapping({ ...config, preset: "github", events: ["push"], when: "payload.a == 1" }, undefined),
  context: requestWith({ a: 1 }, changes),
  ofSender: true,
  deliveryId: undefined,
  miss: undefined,
  ...keys,
});
const ended = (reason: string): object => ({ actions: [], ended: { state: "filtered", reason } });

describe("the filter stage", () => {
  it("lets through what the mapping's filter takes", () => {
    expect(filter(resolved({}, { event: "push" }))).toBeUndefined();
    expect(filter(resolved({ route: mappingOf({ messageTemplate: "m" }) }))).toBeUndefined();
  });

  it("ends what it does not take as filtered, with the clause and the value that it saw", () => {
    expect(filter(resolved({}, { event: "star" }))).toEqual(ended('events: "star" is none of them'));
    const other = resolved({}, { event: "push", payload: { a: 2 } });
    expect(filter(other)).toEqual(ended("when: payload.a == 1 is false; payload.a = 2"));
  });

  it("says first why the request is not for the route", () => {
    expect(filter(resolved({ miss: "a ping" }, { event: "star" }))).toEqual(ended("a ping"));
  });

  it("takes everything on the two fixed routes", () => {
    expect(filter(resolved({ route: "wake" }))).toBeUndefined();
    expect(filter(resolved({ route: "agent" }))).toBeUndefined();
  });
});
