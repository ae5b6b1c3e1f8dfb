import { execFile } from "node:child_process";
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { DECLARATIONS, TSCONFIG } from "../../../../src/cli/transform/declarations.ts";
import { TransformTerminal } from "./terminal.ts";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const tsc = join(root, "node_modules", "typescript", "bin", "tsc");

/** What the compiler says of a folder; empty: nothing is wrong. */
async function compiled(folder: string): Promise<string> {
  try {
    await promisify(execFile)(process.execPath, [tsc, "--project", folder]);
    return "";
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

async function refused(terminal: TransformTerminal, ...args: readonly string[]): Promise<string> {
  const { code, out, err } = await terminal.run("transform", "new", ...args);
  expect([code, out]).toEqual([1, ""]);
  return err.trimEnd();
}

describe("reveille transform new", () => {
  it("writes modules that a stranger's compiler takes, without the package, and that work as they are", async () => {
    using terminal = new TransformTerminal();
    const first = await terminal.run("transform", "new", "deploy");
    expect([first.code, first.err]).toEqual([0, ""]);
    expect(first.out).toContain(`Written: ${join(terminal.folder, "deploy.ts")}\n`);
    expect(first.out).toContain(`Written: ${join(terminal.folder, "reveille.d.ts")} (the types, for editors)`);
    const other = await terminal.run("transform", "new", "team/script", "--js");
    expect(other.out).toContain(`Written: ${join(terminal.folder, "team", "script.js")}\n\n`);
    await terminal.run("transform", "new", "code", "--preset", "github");
    await terminal.run("transform", "new", "code-js", "--preset", "github", "--js");
    await terminal.run("transform", "new", "sms", "--preset", "twilio");
    expect(readFileSync(join(terminal.folder, "code.ts"), "utf8")).toContain("readonly pull_request?: {");
    terminal.module(
      "own.ts",
      `import { defineTransform, textAt } from "reveille";
import { word } from "./word.ts";

export default defineTransform(({ rawBody, url, payload, time }) => {
  console.log(new TextDecoder().decode(rawBody), url.searchParams.get("a"), time.getTime(), structuredClone(word));
  return [{ message: textAt(payload, "text") }, null];
});
`,
    );
    terminal.module("word.ts", 'export const word = "own";');
    expect(await compiled(terminal.folder)).toBe("");

    const sum = join(terminal.folder, "deploy.ts");
    writeFileSync(sum, readFileSync(sum, "utf8").replace("message: payload.text", "message: 7"));
    expect(await compiled(terminal.folder)).toMatch(/^.*deploy\.ts\(\d+,\d+\): error TS2/u);
  }, 60_000);

  it("prints the mapping to add and the command to run, and both work", async () => {
    using terminal = new TransformTerminal();
    const { out } = await terminal.run("transform", "new", "deploy");
    const mapping = /^ {2}(\{ match: .*\}),$/mu.exec(out)?.[1];
    expect(mapping).toBe('{ match: { path: "deploy" }, name: "deploy", transform: { module: "deploy.ts" } }');
    expect(out).toContain(
      `  echo '{"title":"Deploy","text":"It works."}' | reveille transform test deploy.ts --payload -\n`,
    );
    terminal.configure({
      mappings: [{ match: { path: "deploy" }, name: "deploy", transform: { module: "deploy.ts" } }],
    });
    const payload = terminal.write("payload.json", '{"title":"Deploy","text":"It works."}');
    const tested = await terminal.run("transform", "test", "deploy.ts", "--payload", payload);
    expect(tested.code).toBe(0);
    expect(tested.out).toContain("  | Name: Deploy\n  | ---\n  | It works.\n");
    expect((await terminal.run("transform", "test", "deploy.ts")).out).toContain("null: skip");
  });

  it("prints the block of a preset and a sample to try, and both work", async () => {
    using terminal = new TransformTerminal();
    const { out } = await terminal.run("transform", "new", "pages", "--preset", "pagerduty", "--js");
    expect(out).toContain('  hooks: { pagerduty: { transform: { module: "pages.js" } } }\n');
    const [, name = "", sample = ""] = /transform test pages\.js --preset (\S+) --sample (\S+)$/mu.exec(out) ?? [];
    terminal.configure({
      presets: ["pagerduty"],
      pagerduty: { secret: "secret-of-the-transform-tests", transform: { module: "pages.js" } },
    });
    const tested = await terminal.run("transform", "test", "pages.js", "--preset", name, "--sample", sample);
    expect(tested.code).toBe(0);
    expect(tested.out).toMatch(/^mapping {5}pagerduty \(hooks\.pagerduty\)$/mu);
    const quoted = await terminal.run("transform", "new", "aws", "--preset", "aws-sns");
    expect(quoted.out).toContain('hooks: { "aws-sns": {');
  });

  it("writes where the configuration says, and names that configuration in the command", async () => {
    using terminal = new TransformTerminal();
    terminal.configure({ transformsDir: "own" });
    const { out } = await terminal.run("transform", "new", "deploy", "--config", terminal.process.configFile);
    expect(existsSync(join(terminal.folder, "own", "deploy.ts"))).toBe(true);
    expect(out).toContain(`transform test deploy.ts --config ${terminal.process.configFile} --payload -`);
    const spaced = terminal.write("its config.json5", readFileSync(terminal.process.configFile, "utf8"));
    expect((await terminal.run("transform", "new", "next", "--config", spaced)).out).toContain(`--config '${spaced}'`);
    terminal.configure({ presets: ["githb"] });
    expect(await refused(terminal, "third")).toContain("hooks.presets[0]");
  });

  it("replaces nothing that somebody wrote, but its own declarations of another version", async () => {
    using terminal = new TransformTerminal();
    const module = terminal.module("deploy.ts", "mine");
    const tsconfig = terminal.module("tsconfig.json", "{}");
    const declarations = terminal.module("reveille.d.ts", DECLARATIONS.replace("forEach", "other"));
    expect(await refused(terminal, "deploy")).toContain("exists already; nothing was written");
    expect(readFileSync(module, "utf8")).toBe("mine");
    const { out } = await terminal.run("transform", "new", "next");
    expect(out).not.toContain("tsconfig.json");
    expect(readFileSync(tsconfig, "utf8")).toBe("{}");
    expect(readFileSync(declarations, "utf8")).toBe(DECLARATIONS);
    writeFileSync(declarations, "// mine");
    expect((await terminal.run("transform", "new", "third")).out).not.toContain("reveille.d.ts");
    expect(readFileSync(declarations, "utf8")).toBe("// mine");
  });

  it("refuses names that are none, and a folder that leads outside", async () => {
    using terminal = new TransformTerminal();
    for (const name of ["../up", "/etc/x", "a.ts", "", "a//b", "reveille", "-x", "a b", "x".repeat(101)]) {
      expect(await refused(terminal, "--", name)).toContain("cannot be the name of a transform");
    }
    expect(existsSync(terminal.folder)).toBe(false);
    terminal.configure();
    symlinkSync(terminal.process.homeDir, join(terminal.folder, "out"));
    expect(await refused(terminal, "out/deploy")).toContain("leads outside by a link");
    expect(existsSync(join(terminal.process.homeDir, "deploy.ts"))).toBe(false);
    expect(await refused(terminal, "deploy", "--preset", "githb")).toContain('There is no preset "githb"');
  });
});

describe("the declarations for editors", () => {
  it("say of transforms what the package's own types say", async () => {
    using terminal = new TransformTerminal();
    await terminal.run("transform", "new", "deploy");
    const source = (file: string): string => JSON.stringify(join(root, "src", file));
    terminal.module(
      "same.ts",
      `import type * as told from "reveille";
import type { TransformAction } from ${source("transform/result.ts")};
import type { TransformContext, TransformFunction, TransformResult } from ${source("transform/context.ts")};
import type { EventActor } from ${source("core/delivery.ts")};
import type { defineTransform } from ${source("transform/authoring.ts")};
import type * as text from ${source("core/payload-text.ts")};

type Same<Left, Right> =
  (<T>() => T extends Left ? 1 : 2) extends (<T>() => T extends Right ? 1 : 2) ? true : false;
type Flat<Value> = { [Key in keyof Value]: Value[Key] };
const same = <Left, Right>(_: [Left, Right] extends [Right, Left] ? true : never): void => {};

same<told.TransformContext<{ a: 1 }>, TransformContext<{ a: 1 }>>(true);
same<told.TransformFunction<{ a: 1 }>, TransformFunction<{ a: 1 }>>(true);
same<told.TransformResult, TransformResult>(true);
same<typeof told.defineTransform, typeof defineTransform>(true);
const keys: Same<keyof told.TransformContext, keyof TransformContext> = true;
const senders: Same<Flat<told.EventActor>, Flat<EventActor>> = true;
const actions: Same<Flat<told.TransformAction>, Flat<TransformAction>> = true;
type Names = Exclude<keyof typeof told, "defineTransform">;
const texts: Same<{ [Name in Names]: (typeof told)[Name] }, Pick<typeof text, Names>> = true;
void [keys, senders, actions, texts];
`,
    );
    writeFileSync(join(terminal.folder, "tsconfig.json"), TSCONFIG.replace('"strict"', '"types": ["node"], "strict"'));
    const nodeModules = join(terminal.configDir, "node_modules");
    symlinkSync(join(root, "node_modules"), nodeModules);
    expect(await compiled(terminal.folder)).toBe("");
  }, 60_000);

  it("name everything that a transform can import from the package", async () => {
    const { authoring } = await import("../../../../src/transform/authoring.ts");
    const told = [...DECLARATIONS.matchAll(/export function (\w+)/gu)].map(([, name = ""]) => name);
    expect(told.toSorted()).toEqual(Object.keys(authoring).toSorted());
  });
});
