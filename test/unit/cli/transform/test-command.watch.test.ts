import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { TransformTerminal } from "./terminal.ts";

const says = (text: string): string => `export default ({ payload }) => ({ message: "${text} " + payload.n });`;

/** Waits until something was printed, and forgets what was printed until then; a change may be tried twice. */
async function printed(terminal: TransformTerminal, pattern: RegExp): Promise<string> {
  await vi.waitFor(() => expect(terminal.process.out).toMatch(pattern), 15_000);
  const { out } = terminal.process;
  terminal.process.out = "";
  return out;
}

function watched(): TransformTerminal {
  const terminal = new TransformTerminal();
  terminal.configure({ transforms: { isolation: "none" } });
  terminal.module("deploy.js", says("first"));
  return terminal;
}

describe("reveille transform test --watch", () => {
  it("tries again after each change of the folder and of the payload, whatever was wrong before, until it is stopped", async () => {
    using terminal = watched();
    const payload = terminal.write("payload.json", '{"n":1}');
    const code = terminal.process.run("transform", "test", "deploy.js", "--payload", payload, "--watch");
    const first = await printed(terminal, /Waiting for changes; Ctrl-C ends it\.\n$/u);
    expect(first).toMatch(/^----- \d\d:\d\d:\d\d\nmodule /u);
    expect(first).toContain("  | first 1\n");
    terminal.module("deploy.js", "export default (");
    await printed(terminal, /The module cannot be loaded:\n {2}hooks\/transforms\/deploy\.js:1:[^]*Waiting/u);
    rmSync(join(terminal.folder, "deploy.js"));
    await printed(terminal, /There is no file deploy\.js in [^]*Waiting/u);
    terminal.module("deploy.js", says("second"));
    await printed(terminal, / {2}\| second 1\n[^]*Waiting/u);
    writeFileSync(payload, '{"n":20}');
    await printed(terminal, / {2}\| second 20\n[^]*Waiting/u);
    rmSync(payload);
    await printed(terminal, /ENOENT[^]*Waiting/u);
    terminal.configure({ presets: ["githb"] });
    terminal.module("other.js", "");
    await printed(terminal, /The configuration is not valid\.\nhooks\.presets\[0\][^]*Waiting/u);
    terminal.process.signals.emit("SIGINT");
    expect(await code).toBe(0);
    expect(terminal.process.err).toBe("");
    expect(terminal.process.signals.listenerCount("SIGINT")).toBe(0);
  });

  it("prints one document for each try when it is asked for JSON", async () => {
    using terminal = watched();
    const code = terminal.process.run("transform", "test", "deploy.js", "--watch", "--json");
    expect(JSON.parse(await printed(terminal, /\}\n$/u))).toMatchObject({ ok: true, module: "deploy.js" });
    rmSync(join(terminal.folder, "deploy.js"));
    const gone = JSON.parse(await printed(terminal, /\}\n$/u)) as { error: string };
    expect(gone).toEqual({ ok: false, error: gone.error });
    expect(gone.error).toContain("There is no file deploy.js in ");
    terminal.process.signals.emit("SIGTERM");
    expect(await code).toBe(0);
  });

  it("ends at once, with code 1, when the configuration is not valid in the beginning", async () => {
    using terminal = watched();
    terminal.configure({ presets: ["githb"] });
    const { code, err } = await terminal.run("transform", "test", "deploy.js", "--watch");
    expect(code).toBe(1);
    expect(err).toContain("hooks.presets[0]");
  });
});

describe("reveille transform test, interrupted", () => {
  it("ends the call in progress, with the code of the signal", async () => {
    using terminal = new TransformTerminal();
    terminal.configure({ transforms: { timeoutMs: 60_000 } });
    terminal.module("deploy.js", "export default () => { for (;;); };");
    const code = terminal.process.run("transform", "test", "deploy.js");
    await vi.waitFor(() => expect(terminal.process.signals.listenerCount("SIGINT")).toBe(1), 15_000);
    terminal.process.signals.emit("SIGINT");
    expect(await code).toBe(130);
  });
});
