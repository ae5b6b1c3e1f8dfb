import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { openHostStore } from "../../../src/hosts/shared/open-store.ts";
import type { HostStore } from "../../../src/hosts/shared/open-store.ts";
import { STATE_MODULE_URL } from "../../../src/hosts/embedded/state/sqlite-module.ts";

let folder: string;
let file: string;
const logger = {
  debug: vi.fn(),
  info: vi.fn(),
  warn: vi.fn<(fields: object, message: string) => void>(),
  error: vi.fn(),
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "refused-start-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  file = join(folder, "reveille.sqlite");
  logger.warn.mockClear();
});

function open(stateDir = folder): Promise<HostStore> {
  return openHostStore({ stateDir, stateModule: STATE_MODULE_URL, logger });
}

describe("a start that the machine does not allow", () => {
  it("names the database file when a folder has its place", async () => {
    mkdirSync(file);
    await expect(open()).rejects.toThrow(
      `${file} cannot be opened: unable to open database file. Check that it is a file`,
    );
  });

  it("names the database file when it is none, and a way out", async () => {
    writeFileSync(file, "This is a letter and no database. ".repeat(1_000));
    await expect(open()).rejects.toThrow(/reveille\.sqlite cannot be opened: .*file is not a database\. Restore it/);
  });

  it("names the database file when it is malformed, and a way out", async () => {
    await (await open()).database.close();
    const bytes = readFileSync(file);
    bytes.fill(0xff, 100, 4_000);
    writeFileSync(file, bytes);
    await expect(open()).rejects.toThrow(
      /reveille\.sqlite cannot be opened: .*malformed.*\. The file is damaged\. Restore it/,
    );
  });

  it("names the lock file when it cannot be opened", async () => {
    mkdirSync(`${file}.lock`);
    await expect(open()).rejects.toThrow(`${file}.lock cannot be opened: `);
  });

  it("names the state directory when a file has its place, or that of a parent", async () => {
    writeFileSync(file, "");
    await expect(open(file)).rejects.toThrow(`${file} cannot be opened: EEXIST`);
    await expect(open(join(file, "state"))).rejects.toThrow(
      /state cannot be opened: ENOTDIR.* A part of the path is a file/,
    );
  });

  // Node's recursive mkdir never returns there.
  it.runIf(process.platform === "linux")("ends where a parent exists and allows no folder", async () => {
    await expect(open("/proc/x")).rejects.toThrow(
      /^\/proc\/x cannot be opened: ENOENT.* Choose another state directory/,
    );
    await expect(open("/proc/x/y")).rejects.toThrow(/^\/proc\/x\/y cannot be opened: ENOENT/);
  });

  it("makes the missing folders of a state directory for their owner alone", async () => {
    const deep = join(folder, "a", "b");
    await (await open(deep)).database.close();
    expect([join(folder, "a"), deep].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o700]);
    expect(logger.warn).not.toHaveBeenCalled();
  });

  it("warns of a state directory that other users can change", async () => {
    chmodSync(folder, 0o777);
    await (await open()).database.close();
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith(
      { stateDir: folder, mode: "777" },
      "other users can change the state folder; run chmod 700 on it",
    );
  });
});
