import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RecordedProcess } from "./recorded-process.ts";

let terminal: RecordedProcess;
beforeEach(() => {
  terminal = new RecordedProcess();
});
afterEach(() => {
  terminal.remove();
});

async function refused(...args: readonly string[]): Promise<string> {
  terminal.err = "";
  expect(await terminal.run(...args)).toBe(1);
  return terminal.err.trimEnd();
}

describe("a command that does not exist", () => {
  it("is named, with the likely intended one", async () => {
    expect(await refused("chek")).toBe('There is no command "chek". Did you mean check?');
    expect(await refused("deliveries", "lst")).toBe(
      'There is no command "deliveries lst". Did you mean deliveries list?',
    );
    expect(await refused("hooks", "lst")).toContain("Did you mean hooks list?");
    expect(await refused("telemetry")).toMatch(/^There is no command "telemetry"\. There are: .*serve.*deliveries/u);
  });

  it("is none where options stand before it, which are those of serve there", async () => {
    expect(await refused("--config", "a.json5", "--json", "deliveries", "list")).toBe(
      "Options stand behind the command: reveille deliveries list --config a.json5 --json",
    );
    expect(await refused("--port", "x", "check")).toContain("reveille check --port x");
  });

  it("does not include presets list, --version and options of a default command", async () => {
    for (const args of [["presets", "list"], ["presets", "--json"], ["--version"], ["help"], ["--help", "check"]]) {
      expect([args, await terminal.run(...args)]).toEqual([args, 0]);
    }
  });
});

describe("reveille check --json", () => {
  it("is one document, of a valid configuration and of one that is not", async () => {
    mkdirSync(dirname(terminal.configFile), { recursive: true });
    const config = { gateway: { auth: { token: "gateway-token-of-these-tests" } } };
    writeFileSync(terminal.configFile, JSON.stringify(config), { mode: 0o600 });
    expect(await terminal.run("check", "--json")).toBe(0);
    expect(JSON.parse(terminal.out)).toMatchObject({ ok: true, file: terminal.configFile, issues: [] });
    terminal.out = "";
    writeFileSync(terminal.configFile, JSON.stringify({ ...config, gatway: {} }), { mode: 0o600 });
    expect(await terminal.run("check", "--json")).toBe(1);
    expect(JSON.parse(terminal.out)).toMatchObject({ ok: false, issues: [{ path: "gatway" }] });
  });
});

describe("a folder that the user may not look into", () => {
  const asNobody = async (...args: readonly string[]): Promise<string> => {
    process.seteuid!(65_534);
    try {
      return await refused(...args);
    } finally {
      process.seteuid!(0);
    }
  };

  it.skipIf(process.getuid?.() !== 0)("is not taken for one without a configuration or a database", async () => {
    await terminal.run("init");
    chmodSync(terminal.homeDir, 0o755);
    const cannot = `${terminal.configFile}: the configuration cannot be read (EACCES); run the command as the user of the gateway, or as root`;
    expect(await asNobody("add", "github")).toContain(cannot);
    expect(await asNobody("backup", "/tmp/of-nobody.tar.gz")).toContain(cannot);
    terminal.out = "";
    expect(await asNobody("doctor")).toBe("");
    expect(terminal.out).toContain(cannot);
    expect(terminal.out).toMatch(/^problem {2}state folder .* cannot be looked at by this user: EACCES/mu);
  });
});
