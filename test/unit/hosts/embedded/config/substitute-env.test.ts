import { describe, expect, it } from "vitest";
import { substituteEnv } from "../../../../../src/hosts/embedded/config/substitute-env.ts";

describe("substituteEnv", () => {
  it("replaces variables in every string, however deep, and leaves everything else", () => {
    const value = { a: "${ONE}-${two_2}", list: [{ b: "x${ONE}" }], n: 1, t: true, z: null };
    expect(substituteEnv(value, { ONE: "1", two_2: "2" })).toEqual({
      value: { a: "1-2", list: [{ b: "x1" }], n: 1, t: true, z: null },
      issues: [],
    });
  });

  it("names the key of a variable that is not set", () => {
    const { issues } = substituteEnv({ gateway: { auth: { token: "${NOPE}" } }, list: ["${NOPE}"] }, {});
    expect(issues.map(({ path }) => path)).toEqual(["gateway.auth.token", "list[0]"]);
    expect(issues[0]?.message).toBe(
      'the environment variable NOPE is not set; set it, or write "$${NOPE}" for the characters themselves',
    );
  });

  it("takes a doubled dollar sign for the characters themselves", () => {
    expect(substituteEnv({ a: "$${ONE} ${ONE} $$ $" }, { ONE: "1" }).value).toEqual({ a: "${ONE} 1 $$ $" });
  });

  it("does not look into what it has put in", () => {
    expect(substituteEnv({ a: "${ONE}" }, { ONE: "${TWO}", TWO: "2" }).value).toEqual({ a: "${TWO}" });
  });

  it("refuses what looks like a variable and is none, since it would make a guessable secret", () => {
    for (const text of ["${A:-default}", "${}", "${a.b}", "${1A}", "x ${unclosed"]) {
      const { issues } = substituteEnv({ token: text }, {});
      expect(issues).toHaveLength(1);
      expect(issues[0]?.message).toContain('write "$${"');
    }
  });

  it("looks at own variables and own keys only", () => {
    expect(substituteEnv({ a: "${toString}" }, {}).issues).toHaveLength(1);
    const polluting = JSON.parse('{ "__proto__": { "a": "${ONE}" } }') as object;
    const { value } = substituteEnv(polluting, { ONE: "1" });
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(JSON.stringify(value)).toBe('{"__proto__":{"a":"1"}}');
  });

  it("takes an empty variable for what it is", () => {
    expect(substituteEnv({ a: "x${E}" }, { E: "" })).toEqual({ value: { a: "x" }, issues: [] });
  });
});
