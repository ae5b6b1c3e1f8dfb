import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readGatewayConfig } from "../../../src/hosts/embedded/config/read.ts";
import { RecordedProcess } from "./recorded-process.ts";

let terminal: RecordedProcess;

const canDropRights = process.getuid?.() === 0 && spawnSync("setpriv", ["--version"]).status === 0;

beforeEach(() => {
  terminal = new RecordedProcess();
});

afterEach(() => {
  terminal.remove();
});

function read(): { readonly gatewayToken: string; readonly hookToken: string } {
  const { config, warnings } = readGatewayConfig({ file: terminal.configFile, env: {} });
  expect(warnings).toEqual([]);
  expect(config.hooks).toMatchObject({ enabled: true });
  return {
    gatewayToken: config.gateway.authTokens[0] ?? "",
    hookToken: (config.hooks as { token: string }).token,
  };
}

describe("reveille init", () => {
  it("writes a valid configuration with fresh tokens that no other user can read", async () => {
    expect(await terminal.run("init")).toBe(0);
    expect(statSync(terminal.configFile).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(terminal.configFile)).mode & 0o777).toBe(0o700);
    const { gatewayToken, hookToken } = read();
    expect(gatewayToken).toMatch(/^[0-9a-f]{48}$/u);
    expect(hookToken).toMatch(/^[0-9a-f]{48}$/u);
    expect(gatewayToken).not.toBe(hookToken);
    expect(terminal.out).toContain(terminal.configFile);
    expect(terminal.out).toContain(
      `curl -X POST http://127.0.0.1:18789/hooks/agent -H 'Authorization: Bearer ${hookToken}'`,
    );
    expect(terminal.out).not.toContain(gatewayToken);
  });

  it("leaves an existing file alone unless it is forced, and then makes new tokens", async () => {
    await terminal.run("init");
    const first = read();
    expect(await terminal.run("init")).toBe(1);
    expect(terminal.err).toBe(`${terminal.configFile} exists already; use --force to replace it.\n`);
    expect(read()).toEqual(first);
    writeFileSync(terminal.configFile, "mine", { mode: 0o644 });
    expect(await terminal.run("init", "--force")).toBe(0);
    expect(read().hookToken).not.toBe(first.hookToken);
    expect(statSync(terminal.configFile).mode & 0o777).toBe(0o600);
  });

  it("leaves a file that it replaces to the group that may read it, and to no others", async () => {
    await terminal.run("init");
    chmodSync(terminal.configFile, 0o640);
    expect(await terminal.run("init", "--force")).toBe(0);
    expect(statSync(terminal.configFile).mode & 0o777).toBe(0o640);
  });

  it.skipIf(process.getuid?.() !== 0)("leaves a file that it replaces to its owner, behind a link too", async () => {
    const file = `${terminal.homeDir}/reveille.json5`;
    const link = `${terminal.homeDir}/link.json5`;
    writeFileSync(file, "mine", { mode: 0o644 });
    chownSync(file, 65_534, 65_534);
    symlinkSync("reveille.json5", link);
    expect(await terminal.run("init", "--force", "--config", link)).toBe(0);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    const { uid, gid, mode } = statSync(file);
    expect([uid, gid, mode & 0o777]).toEqual([65_534, 65_534, 0o600]);
    expect(readFileSync(file, "utf8")).toContain("gateway:");
  });

  it("replaces a link that leads nowhere only when it is forced", async () => {
    const link = `${terminal.homeDir}/link.json5`;
    symlinkSync("nowhere.json5", link);
    expect(await terminal.run("init", "--config", link)).toBe(1);
    expect(await terminal.run("init", "--force", "--config", link)).toBe(0);
    expect(readFileSync(link, "utf8")).toContain("gateway:");
  });

  it.skipIf(!canDropRights)("writes files of its own as a root that may give none away", () => {
    const folder = `${terminal.homeDir}/of-another`;
    mkdirSync(folder);
    chownSync(folder, 65_534, 65_534);
    chmodSync(folder, 0o777);
    const file = `${folder}/sub/reveille.json5`;
    const main = fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));
    const withoutRight = ["--bounding-set=-chown", "--inh-caps=-chown", process.execPath];
    const { status, stderr } = spawnSync("setpriv", [...withoutRight, main, "init", "--config", file]);
    expect([status, stderr.toString()]).toEqual([0, ""]);
    expect(statSync(file).uid).toBe(0);
  });

  it("writes to the given path", async () => {
    const file = `${terminal.homeDir}/deep/down/my.json5`;
    expect(await terminal.run("init", "--config", file)).toBe(0);
    expect(readFileSync(file, "utf8")).toContain("gateway:");
  });

  it("says in one line why a file cannot be written", async () => {
    writeFileSync(`${terminal.homeDir}/file`, "");
    expect(await terminal.run("init", "--config", `${terminal.homeDir}/file/my.json5`)).toBe(1);
    expect(terminal.err.trimEnd().split("\n")).toHaveLength(1);
    expect(terminal.err).toMatch(/^E(NOTDIR|EXIST): /u);
  });
});
