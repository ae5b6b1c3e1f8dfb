import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfiguration } from "../../../src/cli/load-configuration.ts";
import { TransformTerminal } from "./transform/terminal.ts";

let terminal: TransformTerminal;
beforeEach(() => {
  terminal = new TransformTerminal();
});
afterEach(() => {
  terminal[Symbol.dispose]();
});

/** Writes a plugin of that source, and a configuration that loads it. */
function configureWith(source: string): void {
  terminal.configure({ mappings: [{ match: { path: "d" }, transform: { module: "deploy.js" } }] });
  terminal.module("deploy.js", 'export default () => ({ message: "m" });');
  terminal.write("p/plugin.json", JSON.stringify({ id: "p", entry: "p.js", pluginApi: "1" }));
  const folder = dirname(terminal.write("p/p.js", source));
  const config = JSON.parse(readFileSync(terminal.process.configFile, "utf8")) as object;
  terminal.write("reveille.json5", JSON.stringify({ ...config, plugins: { load: { paths: [folder] } } }));
}

const diary = (): string => join(terminal.configDir, "diary");
const lines = (): readonly string[] => (existsSync(diary()) ? readFileSync(diary(), "utf8").trim().split("\n") : []);

/** A plugin that writes down what happens to it. */
const noting = (rest = ""): string => `
  import { appendFileSync } from "node:fs";
  export default class {
    apply(host) {
      const note = (what) => appendFileSync(${JSON.stringify(diary())}, what + "\\n");
      note("applied");
      host.lifecycle.onShutdown.tap("p", () => note("shut down"));
      ${rest}
    }
  }`;

describe("plugins of a gateway that does not run", () => {
  it.each([
    { args: ["check"] },
    { args: ["doctor"] },
    { args: ["transform", "test", "deploy.js"] },
    { args: ["transform", "new", "another", "--js"] },
  ])("are shut down when the command is done: $args", async ({ args }) => {
    configureWith(noting());
    await terminal.run(...args);
    expect(lines()).toEqual(["applied", "shut down"]);
  });

  it("are shut down when one of them refuses, in apply or later", async () => {
    for (const rest of [
      'throw new Error("not today");',
      'host.lifecycle.onConfigLoad.tap("p", () => { throw new Error("not today"); });',
    ]) {
      configureWith(noting(rest));
      const before = lines().length;
      expect(await terminal.run("check")).toMatchObject({
        code: 1,
        err: expect.stringContaining("not today") as string,
      });
      expect(lines().slice(before)).toEqual(["applied", "shut down"]);
    }
  });

  it("are left alone when they do not shut down in time", async () => {
    configureWith(`export default class {
      apply(host) { host.lifecycle.onShutdown.tapPromise("p", () => new Promise(() => {})); }
    }`);
    expect(await terminal.run("check")).toMatchObject({ code: 0 });
    const errors = terminal.process.logger.lines.filter(({ level }) => level === "error");
    expect(errors).toMatchObject([{ message: "a plugin did not shut down in order" }]);
  });

  it("are set aside when they do not finish loading, and refused with --strict", async () => {
    configureWith("await new Promise(() => {}); export default class { apply() {} }");
    const { gateway, logger } = terminal.process;
    const reason = "the plugin has not finished loading after 100 ms";
    const { active } = await loadConfiguration({}, { gateway, logger, loadTimeoutMs: 100 });
    expect(active.config.closed).toContain(reason);
    const strict = loadConfiguration({}, { gateway, logger, loadTimeoutMs: 100, strict: true });
    await expect(strict).rejects.toThrow(reason);
  });

  it("cannot make the terminal obey what they throw", async () => {
    configureWith('export default class { apply() { throw new Error("red \\u001b[31m and \\u202e back"); } }');
    const { code, err } = await terminal.run("check");
    expect(code).toBe(1);
    expect(err).toContain("red \uFFFD[31m and \uFFFD back");
    expect([err.includes("\u001B"), err.includes("\u202E")]).toEqual([false, false]);
  });
});
