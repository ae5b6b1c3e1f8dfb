import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { watchConfigFile } from "../../../../src/embedded/config/watch-config-file.ts";
import type { ConfigWatch } from "../../../../src/embedded/config/watch-config-file.ts";

let folder: string;
let file: string;
let changes: number;
let watching: ConfigWatch | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reveille-watch-"));
  file = join(folder, "reveille.json5");
  changes = 0;
});

afterEach(async () => {
  await watching?.close();
  rmSync(folder, { recursive: true });
});

async function watch(): Promise<void> {
  watching = await watchConfigFile(file, () => changes++, { debounceMs: 60 });
}

async function expectChanges(count: number): Promise<void> {
  await vi.waitFor(() => {
    expect(changes).toBe(count);
  }, 5_000);
}

describe("watchConfigFile", () => {
  it("tells of a write, of a replacement by rename, and of a write after that", async () => {
    writeFileSync(file, "one");
    await watch();
    writeFileSync(file, "two");
    await expectChanges(1);
    writeFileSync(join(folder, "new"), "three");
    renameSync(join(folder, "new"), file);
    await expectChanges(2);
    writeFileSync(file, "four");
    await expectChanges(3);
    unlinkSync(file);
    writeFileSync(file, "five");
    await expectChanges(4);
  });

  it("tells once of many changes that follow one another closely", async () => {
    writeFileSync(file, "0");
    await watch();
    for (let round = 1; round <= 5; round++) {
      writeFileSync(file, String(round));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await expectChanges(1);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(changes).toBe(1);
  });

  it("does not care about other files of the folder, and says nothing once closed", async () => {
    writeFileSync(file, "one");
    await watch();
    writeFileSync(join(folder, "other"), "x");
    await new Promise((resolve) => setTimeout(resolve, 200));
    writeFileSync(file, "two");
    await watching?.close();
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(changes).toBe(0);
  });

  it("sees a mounted volume switch to its next version", async () => {
    mkdirSync(join(folder, "..1"));
    writeFileSync(join(folder, "..1", "reveille.json5"), "one");
    symlinkSync("..1", join(folder, "..data"));
    symlinkSync("..data/reveille.json5", file);
    await watch();
    mkdirSync(join(folder, "..2"));
    writeFileSync(join(folder, "..2", "reveille.json5"), "two");
    symlinkSync("..2", join(folder, "..next"));
    renameSync(join(folder, "..next"), join(folder, "..data"));
    await expectChanges(1);
  });
});
