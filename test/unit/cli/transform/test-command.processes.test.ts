import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { TransformTerminal } from "./terminal.ts";

const mapping = { match: { path: "d" }, transform: { module: "deploy.js" } };

/** A terminal whose sandboxes read below a folder of its own, and are known by that. */
function terminalWith(module: string, hooks: object): { terminal: TransformTerminal; temporary: string } {
  const terminal = new TransformTerminal();
  const temporary = join(terminal.process.homeDir, "tmp");
  mkdirSync(temporary);
  vi.stubEnv("TMPDIR", temporary);
  terminal.configure({ mappings: [mapping], ...hooks });
  terminal.module("deploy.js", module);
  return { terminal, temporary };
}

function sandboxesIn(folder: string): readonly string[] {
  return readdirSync("/proc").filter((name) => /^\d+$/u.test(name) && commandLine(name).includes(folder));
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}

/** A process that was killed is there a moment longer; what was interrupted removes its files within its patience. */
async function expectNothingLeft(temporary: string): Promise<void> {
  await vi.waitFor(() => expect([sandboxesIn(temporary), readdirSync(temporary)]).toEqual([[], []]), 15_000);
}

describe("commands that load transforms", () => {
  it.each([
    { args: ["check"], code: 0 },
    { args: ["presets"], code: 0 },
    { args: ["transform", "test", "deploy.js"], code: 0 },
  ])("leave no process and no file behind when they are done: $args", async ({ args, code }) => {
    const { terminal, temporary } = terminalWith('export default () => ({ message: "m" });', {});
    using _ = terminal;
    let seen = 0;
    const watch = setInterval(() => (seen = Math.max(seen, sandboxesIn(temporary).length)), 5);
    const { code: given, err } = await terminal.run(...args);
    clearInterval(watch);
    expect([given, err]).toEqual([code, ""]);
    expect(seen).toBeGreaterThan(0);
    await expectNothingLeft(temporary);
  });

  it("leave none when a plugin refuses the configuration", async () => {
    const { terminal, temporary } = terminalWith('export default () => ({ message: "m" });', {
      transforms: { maxMemory: "128mb" },
    });
    using _ = terminal;
    const plugin = terminal.write(
      "p/p.js",
      `export default class {
      apply(host) { host.lifecycle.onConfigLoad.tapPromise("p", async () => { throw new Error("not this one"); }); }
    }`,
    );
    terminal.write("p/plugin.json", JSON.stringify({ id: "p", entry: "p.js", pluginApi: "1" }));
    const config = JSON.parse(readFileSync(terminal.process.configFile, "utf8")) as object;
    terminal.write("reveille.json5", JSON.stringify({ ...config, plugins: { load: { paths: [join(plugin, "..")] } } }));
    const { code, err } = await terminal.run("check");
    expect(code).toBe(1);
    expect(err).toContain("not this one");
    await expectNothingLeft(temporary);
  });

  it.each([
    { args: ["check"], signal: "SIGINT", code: 130 },
    { args: ["doctor"], signal: "SIGTERM", code: 143 },
    { args: ["transform", "test", "deploy.js"], signal: "SIGINT", code: 130 },
  ])("leave none when $signal interrupts $args before the transforms are loaded", async ({ args, signal, code }) => {
    const { terminal, temporary } = terminalWith("await new Promise(() => setInterval(() => {}, 1_000));", {});
    using _ = terminal;
    const ended = terminal.process.run(...args);
    await vi.waitFor(() => expect(sandboxesIn(temporary).length).toBeGreaterThan(0), 15_000);
    expect(readdirSync(temporary).join()).toMatch(/reveille-(check|transform)-/);
    terminal.process.signals.emit(signal);
    expect(await ended).toBe(code);
    expect(terminal.process.err).toBe("");
    await expectNothingLeft(temporary);
  });

  it.each([
    { when: "as soon as there is one", waitMs: 0 },
    { when: "while a call is under way that does not end", waitMs: 1_000 },
  ])("leave none when they are interrupted $when", async ({ waitMs }) => {
    const { terminal, temporary } = terminalWith("export default () => { for (;;); };", {
      transforms: { timeoutMs: 60_000 },
    });
    using _ = terminal;
    const code = terminal.process.run("transform", "test", "deploy.js");
    await vi.waitFor(() => expect(sandboxesIn(temporary).length).toBeGreaterThan(0), 15_000);
    await sleep(waitMs);
    terminal.process.signals.emit("SIGTERM");
    expect(await code).toBe(143);
    await expectNothingLeft(temporary);
  });
});
