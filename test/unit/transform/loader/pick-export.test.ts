import { describe, expect, it } from "vitest";
import { pickExport } from "../../../../src/transform/loader/pick-export.ts";

const one = () => 1;
const two = () => 2;

describe("pickExport", () => {
  it("takes the default export before the one named transform", () => {
    expect(pickExport({ default: one, transform: two }, undefined)).toEqual({ ok: true, value: one });
  });

  it("takes the export named transform when there is no default", () => {
    expect(pickExport({ transform: two }, undefined)).toEqual({ ok: true, value: two });
  });

  it("takes a CommonJS module that is a function as its default", () => {
    expect(pickExport(one, undefined)).toEqual({ ok: true, value: one });
    expect(pickExport(one, "default")).toEqual({ ok: true, value: one });
    expect(
      pickExport(
        Object.assign(() => 3, { default: one }),
        undefined,
      ),
    ).toEqual({ ok: true, value: one });
  });

  it("takes the export that is named, and nothing in its place", () => {
    expect(pickExport({ default: one, two }, "two")).toEqual({ ok: true, value: two });
    expect(pickExport({ default: one, transform: two }, "three")).toEqual({
      ok: false,
      reason: 'exports nothing named "three"; it exports default, transform',
    });
    expect(pickExport(one, "transform")).toMatchObject({ ok: false });
  });

  it("refuses an export that is not a function, without trying another", () => {
    const reason = 'exports "default", which is not a function';
    expect(pickExport({ default: 42, transform: two }, undefined)).toEqual({ ok: false, reason });
    expect(pickExport({ default: null }, undefined)).toEqual({ ok: false, reason });
  });

  it("says that an export is there and undefined", () => {
    const reason = (name: string) => `exports "${name}", which is undefined once it is loaded`;
    expect(pickExport({ default: undefined }, undefined)).toEqual({ ok: false, reason: reason("default") });
    expect(pickExport({ transform: undefined }, undefined)).toEqual({ ok: false, reason: reason("transform") });
    expect(pickExport({ default: one, two: undefined }, "two")).toEqual({ ok: false, reason: reason("two") });
    expect(pickExport({ default: undefined, transform: two }, undefined)).toEqual({ ok: true, value: two });
  });

  it("says what a module exports instead", () => {
    const nothing = { ok: false, reason: 'exports neither "default" nor "transform"; it exports nothing' };
    expect(pickExport({}, undefined)).toEqual(nothing);
    expect(pickExport(undefined, undefined)).toEqual(nothing);
    expect(pickExport("text", undefined)).toEqual(nothing);
    expect(pickExport(null, "x")).toEqual({ ok: false, reason: 'exports nothing named "x"; it exports nothing' });
  });

  it("looks at own properties only", () => {
    expect(pickExport({}, "toString")).toMatchObject({ ok: false });
    expect(pickExport({}, "constructor")).toMatchObject({ ok: false });
    expect(pickExport(Object.create({ default: one }), undefined)).toMatchObject({ ok: false });
  });
});
