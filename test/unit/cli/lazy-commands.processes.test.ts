import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const MAIN = join(import.meta.dirname, "../../../src/cli/main.ts");
/** Prints the address of each module that is loaded. */
const LISTS_MODULES = `import { registerHooks } from "node:module";
registerHooks({
  load(url, context, next) {
    process.stderr.write("loaded " + url + "\\n");
    return next(url, context);
  },
});`;

function modulesOf(...args: readonly string[]): readonly string[] {
  const preload = `data:text/javascript,${encodeURIComponent(LISTS_MODULES)}`;
  const program = ["--import", preload, MAIN, ...args];
  const { stderr } = execute(program);
  return [...stderr.matchAll(/^loaded (?<url>file:.*)$/gmu)].map(({ groups }) => groups!["url"]!);
}

function execute(program: readonly string[]): { stderr: string } {
  // Through a shell, so that standard error becomes standard output.
  const words = [process.execPath, ...program].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  return { stderr: execFileSync("/bin/sh", ["-c", `${words.join(" ")} 2>&1 >/dev/null`], { encoding: "utf8" }) };
}

function packagesIn(modules: readonly string[]): readonly string[] {
  const names = modules.flatMap(
    (url) => /\/node_modules\/(?<name>[^/@]+|@[^/]+\/[^/]+)\//u.exec(url)?.groups?.["name"] ?? [],
  );
  return [...new Set(names)];
}

describe("the command line", () => {
  it.each([["--help"], ["--version"], ["deliveries", "--help"]])(
    "loads the library of commands and nothing of a command to print %s",
    { timeout: 60_000 },
    (...args) => {
      const modules = modulesOf(...args);
      expect(packagesIn(modules)).toEqual(["commander"]);
      expect(modules.filter((url) => /\/src\/(?:ingress|transform|storage|presets|index\.ts)/u.test(url))).toEqual([]);
      expect(modules.some((url) => url.endsWith("/src/cli/run.ts"))).toBe(true);
    },
  );
});
