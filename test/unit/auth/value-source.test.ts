import { describe, expect, it } from "vitest";
import { compileSource, compileSources, splitSource } from "../../../src/auth/value-source.ts";
import type { RequestView } from "../../../src/auth/verifier.ts";

const viewWith = (view: Partial<RequestView>): RequestView => ({ headers: {}, query: {}, payload: undefined, ...view });

describe("compileSource", () => {
  it.each<[string, Partial<RequestView>, string | undefined]>([
    ["header:X-Id", { headers: { "x-id": "1" } }, "1"],
    ["header:x-id", { headers: { "x-id": "" } }, ""],
    ["header:x-id", { headers: { "x-id": ["1", "2"] } }, "1, 2"],
    ["header:x-id", { headers: { "x-id": undefined } }, undefined],
    ["header:x-id", {}, undefined],
    ["header:toString", {}, undefined],
    ["query:Key", { query: { Key: "1" } }, "1"],
    ["query:key", { query: { Key: "1" } }, undefined],
    ["query:toString", {}, undefined],
    ["query:a:b", { query: { "a:b": "1" } }, "1"],
    ["body:a.b", { payload: { a: { b: "x" } } }, "x"],
    ["body:a[1].b", { payload: { a: [{}, { b: "x" }] } }, "x"],
    ["body:a", { payload: { a: 5 } }, "5"],
    ["body:a", { payload: { a: 1e21 } }, "1e+21"],
    ["body:a", { payload: { a: Number.NaN } }, undefined],
    ["body:a", { payload: { a: Infinity } }, undefined],
    ["body:a", { payload: { a: false } }, "false"],
    ["body:a", { payload: { a: null } }, undefined],
    ["body:a", { payload: { a: ["x"] } }, undefined],
    ["body:a", { payload: { a: { b: 1 } } }, undefined],
    ["body:a", { payload: undefined }, undefined],
    ["body:toString", { payload: {} }, undefined],
    ["pair:t", { headers: { t: "1" }, query: { t: "1" }, payload: { t: "1" } }, undefined],
    ["path", { headers: { path: "1" } }, undefined],
  ])("reads %s", (source, view, value) => {
    expect(compileSource(source)(viewWith(view))).toBe(value);
  });
});

describe("compileSources", () => {
  it.each<[string, unknown, string[] | undefined]>([
    ["body:value[].state", { value: [{ state: "a" }, { state: "b" }] }, ["a", "b"]],
    ["body:value[].state", { value: [{ state: "a" }, {}] }, undefined],
    ["body:value[].state", { value: [] }, undefined],
    ["body:value[].state", { value: { state: "a" } }, undefined],
    ["body:value[].state", {}, undefined],
    ["body:value[]", { value: ["a", 5, true] }, ["a", "5", "true"]],
    ["body:value[]", { value: ["a", null] }, undefined],
    ["body:[].state", [{ state: "a" }], ["a"]],
    ["body:a[].b[].c", { a: [{ b: [{ c: "1" }, { c: "2" }] }, { b: [{ c: "3" }] }] }, ["1", "2", "3"]],
    ["body:a[].b[].c", { a: [{ b: [{ c: "1" }] }, { b: "x" }] }, undefined],
    ["body:a[].b.c", { a: [{ b: { c: "1" } }] }, ["1"]],
    ["body:a", { a: "x" }, ["x"]],
    ["body:a", {}, undefined],
  ])("reads %s of %j", (source, payload, values) => {
    expect(compileSources(source)(viewWith({ payload }))).toEqual(values);
  });

  it("reads one value of other places, whatever they are called", () => {
    expect(compileSources("header:x[]")(viewWith({ headers: { "x[]": "1" } }))).toEqual(["1"]);
    expect(compileSources("query:x[]")(viewWith({ query: { "x[]": "1" } }))).toEqual(["1"]);
    expect(compileSources("header:y")(viewWith({}))).toBeUndefined();
  });
});

describe("splitSource", () => {
  it.each([
    ["header:x-id", "header", "x-id"],
    ["body:a:b", "body", "a:b"],
    ["path", "path", ""],
  ])("takes %s apart", (source, kind, name) => {
    expect(splitSource(source)).toEqual({ kind, name });
  });
});
