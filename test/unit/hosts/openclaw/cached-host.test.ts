import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { cachedHost } from "../../../openclaw/cached-host.ts";

const VERSION = "2026.9.6";

let parent: string;
let installs: number;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "cached-host-"));
  installs = 0;
});

afterEach(() => {
  rmSync(parent, { recursive: true, force: true });
});

function install(_version: string, folder: string): void {
  installs++;
  mkdirSync(join(folder, "node_modules/openclaw/dist"), { recursive: true });
  for (const name of ["openclaw.mjs", ".pending", "dist/a.mjs", "dist/b.mjs"]) {
    writeFileSync(join(folder, "node_modules/openclaw", name), "");
  }
}

it("installs a version once, and finds it again, also after the host has written and removed files of its own", () => {
  const host = cachedHost(VERSION, install, parent);
  expect(existsSync(join(host, "openclaw.mjs"))).toBe(true);
  writeFileSync(join(host, "dist/cache"), "");
  rmSync(join(host, ".pending"));
  expect(cachedHost(VERSION, install, parent)).toBe(host);
  expect(installs).toBe(1);
  expect(cachedHost("2026.9.5", install, parent)).not.toBe(host);
  expect(installs).toBe(2);
});

it("leaves nothing of an installation that failed", () => {
  const fail = (version: string, folder: string): void => {
    install(version, folder);
    throw new Error("the registry is away");
  };
  expect(() => cachedHost(VERSION, fail, parent)).toThrow("the registry is away");
  expect(readdirSync(parent)).toEqual([]);
});

it("replaces a version that has lost a file, and one of before that was never finished", () => {
  const host = cachedHost(VERSION, install, parent);
  rmSync(join(host, "dist/b.mjs"));
  cachedHost(VERSION, install, parent);
  expect(existsSync(join(host, "dist/b.mjs"))).toBe(true);
  rmSync(join(parent, `reveille-openclaw-${VERSION}`, "whole.json"));
  cachedHost(VERSION, install, parent);
  expect(installs).toBe(3);
});

it("takes what another run has installed meanwhile", () => {
  const overtaken = (version: string, folder: string): void => {
    install(version, folder);
    if (installs === 1) cachedHost(version, install, parent);
  };
  const host = cachedHost(VERSION, overtaken, parent);
  expect(existsSync(join(host, "openclaw.mjs"))).toBe(true);
  expect(readdirSync(parent)).toEqual([`reveille-openclaw-${VERSION}`]);
});

it("removes what an interrupted run has left, once it is old", () => {
  const [old, young] = ["old", "young"].map((name) => join(parent, `reveille-openclaw-${VERSION}.${name}`));
  for (const folder of [old, young]) mkdirSync(String(folder));
  utimesSync(String(old), new Date(0), new Date(0));
  cachedHost(VERSION, install, parent);
  expect(readdirSync(parent).toSorted()).toEqual([
    `reveille-openclaw-${VERSION}`,
    `reveille-openclaw-${VERSION}.young`,
  ]);
});
