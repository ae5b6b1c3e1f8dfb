import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import JSON5 from "json5";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PackedReveille } from "./packed-reveille.ts";

const root = resolve(import.meta.dirname, "../../..");
const packed = new PackedReveille();
let archive: string;

beforeAll(async () => {
  archive = await packed.pack();
  await packed.run("npm", ["install", "-g", archive]);
}, 300_000);
afterAll(() => packed[Symbol.asyncDispose]());

describe("the packed archive", () => {
  it("has less than 1.5 MB, and is installed with one other package in less than 70 MB", () => {
    expect(statSync(archive).size).toBeLessThan(1_500_000);
    const installed = join(packed.prefix, "lib/node_modules");
    expect(readdirSync(installed)).toEqual(["reveille"]);
    expect(readdirSync(join(installed, "reveille/node_modules")).filter((name) => !name.startsWith("."))).toEqual([
      "jiti",
    ]);
    expect(packed.installedBytes()).toBeLessThan(70_000_000);
  });

  it("takes a signed event of GitHub from nothing, with three commands", async () => {
    await packed.reveille("init");
    const url = await packed.serve();
    expect(await packed.reveille("add", "github", "--url", url)).toContain("/hooks/github");
    const sent = await packed.reveille("send", "github", "push", "--url", url);
    expect(sent).toMatch(/^200 OK\n/u);
    expect(await packed.reveille("deliveries", "show", "--url", url)).toContain("done");
  });

  it("calls a transform in TypeScript, with the compiler of the other package", async () => {
    await packed.reveille("transform", "new", "double");
    const module = join(packed.home, ".reveille/hooks/transforms/double.ts");
    writeFileSync(
      module,
      "export default ({ payload }: { payload: { n: number } }) => ({ message: `is ${payload.n * 2}` });\n",
    );
    writeFileSync(join(packed.home, "payload.json"), '{"n":21}');
    expect(await packed.reveille("transform", "test", "double.ts", "--payload", "payload.json")).toContain("is 42");
  });
});

describe("the command in an old Node", () => {
  const command = join(root, "src/cli/reveille.cjs");

  it("says what to run, with the arguments, and ends with 1", () => {
    const old = `Object.defineProperty(process.versions, "node", { value: "8.17.0" });`;
    const preload = join(packed.folder, "old.cjs");
    writeFileSync(preload, old);
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ["--require", preload, command, "deliveries", "list"],
      { encoding: "utf8" },
    );
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^This is Node 8\.17\.0, and Reveille needs 24\.16 or later/u);
    expect(stderr).toContain(`npx -y -p node@24 node ${JSON.stringify(command)} deliveries list\n`);
  });

  it("is in words that the oldest Node reads", () => {
    const code = readFileSync(command, "utf8").replaceAll(/\/\*.*?\*\/|\/\/.*|"[^"]*"/gsu, "");
    expect(code).not.toMatch(/=>|`|\?\.|\?\?|\b(?:const|let|class|async|await|import|export)\b/u);
  });

  it("says it in the Node of this machine, where that is an old one", () => {
    for (const node of ["/usr/bin/node", "/usr/local/bin/node"]) {
      const { stdout } = spawnSync(node, ["--version"], { encoding: "utf8" });
      if (!/^v(?:1?\d|2[0-3])\./u.test(stdout ?? "")) continue;
      for (const program of [command, join(root, "scripts/start.mjs")]) {
        const { status, stderr } = spawnSync(node, [program], { encoding: "utf8" });
        expect([status, stderr.split(",", 1)]).toEqual([1, [`This is Node ${stdout.trim().slice(1)}`]]);
      }
    }
  });
});

describe.each(["preset-plugin", "policy-plugin"])("examples/%s", (example) => {
  it("passes its tests with the archive as its only Reveille, and is packed and checked beside a configuration", async () => {
    const folder = join(packed.folder, example);
    cpSync(join(root, "examples", example), folder, { recursive: true });
    await packed.run("npm", ["install", "--save-dev", archive], { cwd: folder });
    expect(await packed.run("npm", ["test"], { cwd: folder })).toMatch(/Tests .*passed/u);

    const [plugin = ""] = (await packed.run("npm", ["pack", "--silent"], { cwd: folder })).trim().split("\n").slice(-1);
    const beside = join(packed.folder, `beside-${example}`);
    cpSync(join(packed.home, ".reveille/reveille.json5"), join(beside, "reveille.json5"));
    await packed.run("npm", ["install", join(folder, plugin)], { cwd: beside });
    const page = readFileSync(join(folder, "README.md"), "utf8");
    const { plugins } = JSON5.parse<{ plugins: object }>(/```json5\n(.*?)```/su.exec(page)![1]!);
    const at = ["--config", join(beside, "reveille.json5")];
    await packed.reveille("config", "set", "plugins", JSON.stringify(plugins), ...at);
    expect(await packed.reveille("check", ...at)).toContain("is valid");
  }, 300_000);
});
