import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../../..");
const fixtures = "test/fixtures/lint";

interface Finding {
  readonly file: string;
  readonly line: number;
  readonly rule: string;
}

interface LintReport {
  readonly diagnostics: readonly {
    readonly code: string;
    readonly filename: string;
    readonly labels: readonly { readonly span: { readonly line: number } }[];
  }[];
}

function runTool(script: string, args: readonly string[]): string {
  const run = spawnSync(process.execPath, [join(root, "node_modules", script), ...args], {
    cwd: root,
    encoding: "utf8",
  });
  expect(run.error).toBeUndefined();
  expect(run.stderr).toBe("");
  expect(run.status).toBeGreaterThan(0);
  return run.stdout;
}

function lintFixtures(): Finding[] {
  const config = `${fixtures}/oxlintrc.json`;
  const report = JSON.parse(
    runTool("oxlint/bin/oxlint", ["--type-aware", "-c", config, "--format", "json", fixtures]),
  ) as LintReport;
  return report.diagnostics.map(({ code, filename, labels }) => ({
    file: filename,
    line: labels[0]?.span.line ?? 0,
    rule: code.replace(/^.*\((.*)\)$/, "$1"),
  }));
}

function typeCheckFixtures(): Finding[] {
  const output = runTool("typescript/bin/tsc", ["-p", `${fixtures}/tsconfig.json`, "--pretty", "false"]);
  return Array.from(output.matchAll(/^(.+?)\((\d+),\d+\): error (TS\d+)/gm), ([, file, line, code]) => ({
    file: file ?? "",
    line: Number(line),
    rule: code ?? "",
  }));
}

function linesOf(file: string): { readonly line: number; readonly text: string }[] {
  const text = readFileSync(join(root, file), "utf8");
  return text.split("\n").map((content, index) => ({ line: index + 1, text: content }));
}

function rulesAt(findings: readonly Finding[], file: string, line: number): string[] {
  const found = findings.filter((finding) => finding.file === file && finding.line === line);
  return found.map((finding) => finding.rule).toSorted();
}

describe("the linter and the type check", () => {
  const tapFile = `${fixtures}/hook-taps.ts`;
  const tapLines = linesOf(tapFile).filter(({ text }) => /\.tap(?:Promise|Async)?\(/.test(text));
  const isMarked = ({ text }: { readonly text: string }): boolean => text.endsWith("// bad");
  let linted: readonly Finding[];
  let typed: readonly Finding[];

  beforeAll(() => {
    linted = lintFixtures();
    typed = typeCheckFixtures();
  });

  it.each(tapLines.filter(isMarked))("refuse in line $line: $text", ({ line }) => {
    expect([...rulesAt(linted, tapFile, line), ...rulesAt(typed, tapFile, line)]).not.toEqual([]);
  });

  it.each(tapLines.filter(({ text }) => isMarked({ text }) && text.includes("async ")))(
    "name tapPromise for the async function in line $line: $text",
    ({ line }) => {
      expect(rulesAt(linted, tapFile, line)).toContain("no-async-tap");
    },
  );

  it.each(tapLines.filter((tapLine) => !isMarked(tapLine)))("accept in line $line: $text", ({ line }) => {
    expect([...rulesAt(linted, tapFile, line), ...rulesAt(typed, tapFile, line)]).toEqual([]);
  });

  it("refuse an async function on each kind of hook that tapable has", () => {
    const declared = readFileSync(join(root, tapFile), "utf8").match(/new (?:Async|Sync)\w*Hook/g) ?? [];
    expect(new Set(declared).size).toBe(10);
    expect(tapLines.filter(isMarked).length).toBeGreaterThan(20);
  });
});

describe("the house rules", () => {
  const marked = globSync(`${fixtures}/src/**/*.ts`, { cwd: root }).flatMap((file) =>
    linesOf(file).map(({ line, text }) => ({
      file,
      line,
      rules: (/\bbad: ([a-z, -]+)$/.exec(text)?.[1] ?? "").split(", ").filter((rule) => rule !== ""),
    })),
  );
  let linted: readonly Finding[];

  beforeAll(() => {
    linted = lintFixtures();
  });

  it.each(marked.filter(({ rules }) => rules.length > 0))("report $rules in $file:$line", ({ file, line, rules }) => {
    expect(rulesAt(linted, file, line)).toEqual(rules);
  });

  it("report nothing on the lines that break no rule", () => {
    const clean = marked.filter(({ rules }) => rules.length === 0);
    expect(clean.flatMap(({ file, line }) => rulesAt(linted, file, line))).toEqual([]);
  });

  it("allow console output in the command line's own folder and nowhere else in src", () => {
    const printing = linted.filter(({ rule }) => rule === "no-console").map(({ file }) => file);
    expect(printing).toEqual([`${fixtures}/src/house-rules.ts`]);
  });
});
