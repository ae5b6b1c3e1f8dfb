import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ERRORS } from "../../src/core/errors.ts";
import { createIngressHooks } from "../../src/ingress/hooks.ts";
import { readDocPage } from "./doc-blocks.ts";
import { tableRows } from "./table-rows.ts";

const { text } = readDocPage("docs/extend/lifecycle.md");
const [before, after] = text.split("\n## After the answer\n") as [string, string];
const rows = tableRows(before.split("\n### ", 1).join(""));
const refusals = Array.from(text.matchAll(/(\d{3}) `([A-Z0-9_]+)`/g), ([, status, code]) => ({
  code: code!,
  status: Number(status),
}));

describe("docs/extend/lifecycle.md", () => {
  it("has the stages of src/ingress/pipeline.ts, in their order", () => {
    const source = readFileSync(join(import.meta.dirname, "../../src/ingress/pipeline.ts"), "utf8");
    const stages = Array.from(source.matchAll(/from "\.\/stages\/(\S+)\.ts"/g), ([, name]) => name!);
    const isStage = (name: string): boolean => stages.includes(name);
    const calls = Array.from(
      source.matchAll(/(?:= (?:missed \?\? )?(?:await )?|return )(\w+)\(/g),
      ([, name]) => name!,
    ).filter(isStage);
    expect(rows.map(([stage]) => stage)).toEqual(calls);
    expect(calls).toHaveLength(13);
  });

  it("has the code of every error, each with its status", () => {
    for (const { code, status } of refusals) expect({ code, status: statusOf(code) }).toEqual({ code, status });
    expect(new Set(refusals.map(({ code }) => code))).toEqual(new Set(Object.keys(ERRORS)));
  });

  it("names every hook of plugins", () => {
    const [, paragraph = ""] = after.split("\n## Hooks of plugins\n");
    const named = Array.from(paragraph.matchAll(/`(\w+)`/g), ([, name]) => name!);
    expect(named).toEqual(expect.arrayContaining(Object.keys(createIngressHooks())));
  });
});

function statusOf(code: string): number | undefined {
  const known: Readonly<Record<string, { readonly status: number } | undefined>> = ERRORS;
  return known[code]?.status;
}
