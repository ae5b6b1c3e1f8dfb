import fs, { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { DEBOUNCE_MS, watchConfigFile } from "../../../../../src/hosts/embedded/config/watch.ts";
import type { ConfigWatch } from "../../../../../src/hosts/embedded/config/watch.ts";

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
  // The spy hangs on the timers that a test has replaced, so it goes before them.
  vi.restoreAllMocks();
  vi.useRealTimers();
  await watching?.close();
  rmSync(folder, { recursive: true });
});

async function watch(): Promise<void> {
  watching = await watchConfigFile(file, () => changes++);
}

/** On a slow machine one change may be told twice, as if it were two bursts. */
async function expectChange(change: () => void): Promise<void> {
  const before = changes;
  change();
  await vi.waitFor(() => {
    expect(changes).toBeGreaterThan(before);
  }, 10_000);
}

describe("watchConfigFile", () => {
  it("reports a write, a replacement by rename, and a write after that", async () => {
    writeFileSync(file, "one");
    await watch();
    await expectChange(() => writeFileSync(file, "two"));
    await expectChange(() => {
      writeFileSync(join(folder, "new"), "three");
      renameSync(join(folder, "new"), file);
    });
    await expectChange(() => writeFileSync(file, "four"));
    await expectChange(() => {
      unlinkSync(file);
      writeFileSync(file, "five");
    });
  });

  it("reports many changes in quick succession once", async () => {
    writeFileSync(file, "0");
    await watch();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const timers = vi.spyOn(globalThis, "setTimeout");
    const seen = () => timers.mock.calls.filter(([, delayMs]) => delayMs === DEBOUNCE_MS).length;
    for (let round = 1; round <= 15; round++) {
      const before = seen();
      // A file's time is no finer than a tick of the kernel, so each text has another length.
      writeFileSync(file, "x".repeat(round + 1));
      while (seen() === before) await setImmediate();
      // The watcher tells of one file at most every 50 ms, and again of what it has held back meanwhile.
      vi.advanceTimersByTime(100);
    }
    expect(changes).toBe(0);
    vi.advanceTimersByTime(DEBOUNCE_MS);
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

  it("sees changes in a folder that is a link, as systemd makes it for a dynamic user", async () => {
    mkdirSync(join(folder, "private"));
    symlinkSync("private", join(folder, "link"));
    file = join(folder, "link", "reveille.json5");
    writeFileSync(file, "one");
    await watch();
    await expectChange(() => writeFileSync(file, "two"));
    await expectChange(() => {
      writeFileSync(join(folder, "private", "new"), "three");
      renameSync(join(folder, "private", "new"), file);
    });
  });

  it("sees changes of the file that a link leads to, also once it leads elsewhere", async () => {
    for (const name of ["a", "b"]) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, "real.json5"), "one");
    }
    symlinkSync("a/real.json5", file);
    await watch();
    await expectChange(() => writeFileSync(join(folder, "a", "real.json5"), "two"));
    await expectChange(() => {
      symlinkSync("b/real.json5", join(folder, "new"));
      renameSync(join(folder, "new"), file);
    });
    await expectChange(() => writeFileSync(join(folder, "b", "real.json5"), "two and more"));
    const before = changes;
    writeFileSync(join(folder, "a", "real.json5"), "three and more");
    writeFileSync(join(folder, "b", "other.json5"), "x");
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(changes).toBe(before);
  });

  it("sees changes of a file in the same folder that a link leads to", async () => {
    writeFileSync(join(folder, "prod.json5"), "one");
    symlinkSync("prod.json5", file);
    await watch();
    await expectChange(() => writeFileSync(join(folder, "prod.json5"), "two"));
  });

  it("is no reason not to start where the system watches nothing more", async () => {
    writeFileSync(file, "one");
    const full = Object.assign(new Error("no space left"), { code: "ENOSPC" });
    const watch = vi.spyOn(fs, "watch").mockImplementation(() => {
      throw full;
    });
    syncBuiltinESMExports();
    onTestFinished(() => {
      watch.mockRestore();
      syncBuiltinESMExports();
    });
    const errors: unknown[] = [];
    watching = await watchConfigFile(file, () => changes++, { onError: (error) => errors.push(error) });
    expect(errors).toContain(full);
  });

  it("sees a mounted volume switch to its next version", async () => {
    mkdirSync(join(folder, "..1"));
    writeFileSync(join(folder, "..1", "reveille.json5"), "one");
    symlinkSync("..1", join(folder, "..data"));
    symlinkSync("..data/reveille.json5", file);
    await watch();
    await expectChange(() => {
      mkdirSync(join(folder, "..2"));
      writeFileSync(join(folder, "..2", "reveille.json5"), "two");
      symlinkSync("..2", join(folder, "..next"));
      renameSync(join(folder, "..next"), join(folder, "..data"));
    });
  });
});
