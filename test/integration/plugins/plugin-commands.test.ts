import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RecordedProcess } from "../../unit/cli/recorded-process.ts";

const example = join(import.meta.dirname, "../../../examples/preset-plugin");
const secret = "signing-key-of-the-command-tests";
let terminal: RecordedProcess;

beforeEach(() => {
  terminal = new RecordedProcess();
});
afterEach(() => {
  terminal.remove();
});

/** Writes a configuration with the plugins of these folders. */
function configure(paths: readonly string[], hooks: object): void {
  const token = "hook-token-of-the-command-tests";
  const config = {
    gateway: { auth: { token: "gateway-token-of-the-command-tests" } },
    plugins: { load: { paths } },
    hooks: { enabled: true, token, ...hooks },
  };
  write("reveille.json5", JSON.stringify(config));
}

/** Writes a file beside the configuration. */
function write(file: string, text: string): string {
  const path = join(dirname(terminal.configFile), file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

describe("a preset of a plugin, on the command line", () => {
  it("is checked with the configuration, and nothing is opened", async () => {
    configure([example], { presets: ["swiftcrate"], swiftcrate: { secret } });
    expect(await terminal.run("check")).toBe(0);
    expect(existsSync(join(dirname(terminal.configFile), "state"))).toBe(false);
    configure([example], { presets: ["swiftcrate"], swiftcrate: { secret, scan: true } });
    expect(await terminal.run("check")).toBe(1);
    expect(terminal.err).toContain('hooks.swiftcrate.scan: unknown key; did you mean "scans"?');
  });

  it("is shown with the steps in its sender's settings", async () => {
    configure([example], { presets: ["swiftcrate"], swiftcrate: { secret } });
    expect(await terminal.run("presets", "show", "swiftcrate")).toBe(0);
    expect(terminal.out).toContain("In Swiftcrate open Account, Notifications, and add ");
  });

  it("is refused with both files when another plugin's, or with its own when a built-in one, has its name", async () => {
    const manifest = (id: string): string => JSON.stringify({ id, presets: ["preset.js"], pluginApi: "^1.1" });
    const preset = (name: string): string => `export default { name: "${name}", title: "T",
      documentation: "https://example.com", auth: { scheme: "token" }, samples: { a: { payload: {} } }, setup: ["Go."] };`;
    const twin = write("twin/plugin.json", manifest("twin"));
    write("twin/preset.js", preset("swiftcrate"));
    configure([example, dirname(twin)], {});
    expect(await terminal.run("check")).toBe(1);
    expect(terminal.err).toContain(
      `plugins.load.paths[1]: ${dirname(twin)}/preset.js: the preset "swiftcrate" has the name of one of the plugin ` +
        `"swiftcrate" (${example}/swiftcrate.ts)`,
    );
    write("twin/preset.js", preset("github"));
    expect(await terminal.run("check")).toBe(1);
    expect(terminal.err).toContain(
      `plugins.entries.twin: ${dirname(twin)}/preset.js: the preset "github" has the name of a built-in one`,
    );
  });
});
