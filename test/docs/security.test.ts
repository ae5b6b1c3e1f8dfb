import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isCredentialName } from "../../src/http/credentials.ts";
import { readDocPage } from "./doc-blocks.ts";

const { text } = readDocPage("docs/operate/security.md");
const source = readFileSync(join(import.meta.dirname, "../../src/http/credentials.ts"), "utf8");

function shown(row: string): string[] {
  const line = text.split("\n").find((candidate) => candidate.startsWith(`| ${row} |`)) ?? "";
  return Array.from(line.slice(row.length + 4).matchAll(/`([^`]+)`/g), ([, name]) => name!);
}

/** The entries of a list in the source; each is a regular expression. */
function listed(list: string): string[] {
  const [, entries = ""] = new RegExp(`const ${list} = \\[([^\\]]*)\\];`).exec(source) ?? [];
  return Array.from(entries.matchAll(/"([^"]+)"/g), ([, entry]) => entry!);
}

describe("the names of credentials in docs/operate/security.md", () => {
  it.each([
    ["these names", "NAMES"],
    ["names that contain one of these", "WORDS"],
  ])("%s are those of the rule", (row, list) => {
    const names = shown(row);
    const rules = listed(list).map((entry) => new RegExp(`^(?:${entry})$`));
    expect(rules.length).toBeGreaterThan(5);
    for (const rule of rules)
      expect(names.filter((name) => rule.test(name)).length, `${rule} is in the page`).toBeGreaterThan(0);
    for (const name of names) {
      expect(
        rules.some((rule) => rule.test(name)),
        `${name} is a credential`,
      ).toBe(true);
      expect(isCredentialName(name), `${name} is a credential`).toBe(true);
    }
  });

  it("are dropped whatever stands between their words", () => {
    const [, examples = ""] = /or nothing: (.*) are all dropped/.exec(text) ?? [];
    const names = Array.from(examples.matchAll(/`([^`]+)`/g), ([, name]) => name!);
    expect(names).toHaveLength(3);
    for (const name of names) expect(isCredentialName(name), `${name} is a credential`).toBe(true);
  });

  it("are not those that are kept", () => {
    const [, examples = ""] = /Kept are names such as (.*): signatures/.exec(text) ?? [];
    const names = Array.from(examples.matchAll(/`([^`]+)`/g), ([, name]) => name!);
    expect(names.length).toBeGreaterThan(3);
    for (const name of names) expect(isCredentialName(name), `${name} is a credential`).toBe(false);
  });
});
