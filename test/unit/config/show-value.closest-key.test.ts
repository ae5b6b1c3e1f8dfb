import { describe, expect, it } from "vitest";
import { closestKey } from "../../../src/config/show-value.ts";

const known = ["enabled", "token", "tokenHeader", "path", "presets", "mappings", "transformsDir", "id", "AbcD"];

describe("closestKey", () => {
  it.each([
    ["a missing letter", "tokn", "token"],
    ["a letter too many", "pathh", "path"],
    ["a wrong letter", "enabied", "enabled"],
    ["neighbors that are swapped", "ptah", "path"],
    ["another case", "TRANSFORMSDIR", "transformsDir"],
    ["another case in each letter", "aBCD", "AbcD"],
    ["several mistakes in a long key", "tranformDirs", "transformsDir"],
    ["a singular", "preset", "presets"],
    ["a short key with one mistake", "idd", "id"],
  ])("suggests the right key for %s", (_mistake, written, meant) => {
    expect(closestKey(written, known)).toBe(meant);
  });

  it("takes the nearest of several near keys, and the first of equally near ones", () => {
    expect(closestKey("tokens", ["tokend", "token", "tokens2"])).toBe("tokend");
    expect(closestKey("tokenHeadr", known)).toBe("tokenHeader");
    expect(closestKey("cat", ["car", "bat"])).toBe("car");
  });

  it.each(["webhookUrl", "x", "", "zzzzz", "pa", "a".repeat(500)])("suggests nothing for %j", (written) => {
    expect(closestKey(written, known)).toBeUndefined();
  });

  it("counts a swap as one mistake and not as two", () => {
    expect(closestKey("abdc", ["abcd"])).toBe("abcd");
    expect(closestKey("badc", ["abcd"])).toBeUndefined();
  });
});
