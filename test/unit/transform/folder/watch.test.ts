import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { watchFolder } from "../../../../src/transform/folder/watch.ts";
import type { FolderWatch, WatchFolderOptions } from "../../../../src/transform/folder/watch.ts";

/** Longer than a machine that is busy keeps back what the system has to tell. */
const LONG_MS = 3_500;

let outer: string;
let folder: string;
let changes: number;
let errors: unknown[];
let watching: FolderWatch | undefined;

beforeEach(() => {
  outer = realpathSync(mkdtempSync(join(tmpdir(), "reveille-watch-")));
  folder = join(outer, "hooks", "transforms");
  mkdirSync(folder, { recursive: true });
  changes = 0;
  errors = [];
});

afterEach(async () => {
  await watching?.close();
  rmSync(outer, { recursive: true });
});

async function watch(options: WatchFolderOptions = {}): Promise<void> {
  const onError = (error: unknown): void => void errors.push(error);
  watching = await watchFolder(folder, () => changes++, { onError, ...options });
}

function write(path: string, text = "x"): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Until nothing has been reported for so long. */
async function quiet(ms: number): Promise<void> {
  for (let seen = -1; seen !== changes;) {
    seen = changes;
    await pause(ms);
  }
}

/** A call more after a change; where the machine is busy it may be seen in parts, each with a call of its own. */
async function expectMore(change: () => void): Promise<void> {
  const before = changes;
  change();
  await vi.waitFor(() => expect(changes).toBeGreaterThan(before), 15_000);
  await quiet(300);
}

/** No call after a change, which a change that counts would have led to in time. */
async function expectNoMore(change: () => void): Promise<void> {
  // What came before may still be on its way.
  if (changes > 0) await quiet(LONG_MS);
  const before = changes;
  change();
  await pause(350);
  expect(changes).toBe(before);
}

function saveByRename(path: string): void {
  write(`${path}~`, "new");
  renameSync(join(folder, `${path}~`), join(folder, path));
}

describe("watchFolder", () => {
  it("reports files that are written, replaced by a rename, added and removed, at any depth", async () => {
    write("a.ts");
    write("sub/b.ts");
    await watch();
    await expectMore(() => write("a.ts", "two"));
    await expectMore(() => saveByRename("a.ts"));
    await expectMore(() => write("a.ts", "three"));
    await expectMore(() => saveByRename("sub/b.ts"));
    await expectMore(() => write("more/deep/c.ts"));
    await expectMore(() => write("more/deep/c.ts", "two"));
    await expectMore(() => unlinkSync(join(folder, "sub/b.ts")));
    await expectMore(() => rmSync(join(folder, "more"), { recursive: true }));
  });

  it("reports many changes in quick succession once", async () => {
    await watch();
    for (let round = 0; round < 8; round++) {
      write(`${round}.ts`);
      await pause(10);
    }
    await vi.waitFor(() => expect(changes).toBeGreaterThan(0), 15_000);
    await pause(300);
    expect(changes).toBe(1);
  });

  it("reports packages only when their installation has ended", async () => {
    write("node_modules/x/index.js");
    write("node_modules/.package-lock.json");
    await watch();
    await expectNoMore(() => {
      write("node_modules/x/index.js", "two");
      write("node_modules/y/index.js");
      write("node_modules/y/node_modules/.package-lock.json");
      write("node_modules/.cache/.package-lock.json");
      write(".git/index");
    });
    await expectMore(() => write("node_modules/.package-lock.json", "two"));
    await expectMore(() => write("sub/node_modules/.modules.yaml"));
    await expectNoMore(() => write("sub/node_modules/x.js"));
  });

  it("reports nothing of what editors leave beside a file, and still reports the file", async () => {
    write("a.mjs");
    await watch();
    await expectNoMore(() => {
      symlinkSync("me@host.123:456", join(folder, ".#a.mjs"));
      for (const name of [".a.mjs.swp", ".a.mjs.swx", "4913", "#a.mjs#", ".DS_Store"]) write(name);
    });
    await expectNoMore(() => write(".DS_Store", "two"));
    await expectMore(() => write("a.mjs", "two"));
  });

  it("does not follow links, and reports changes of the links themselves", async () => {
    mkdirSync(join(outer, "beside"));
    symlinkSync(join(outer, "beside"), join(folder, "link"));
    await watch();
    await expectNoMore(() => writeFileSync(join(outer, "beside", "x.ts"), ""));
    await expectNoMore(() => writeFileSync(join(outer, "hooks", "x.ts"), ""));
    await expectMore(() => {
      symlinkSync("nowhere", join(folder, "next"));
      renameSync(join(folder, "next"), join(folder, "link"));
    });
  });

  it("waits for a folder that does not exist, and for one that went away", async () => {
    rmSync(join(outer, "hooks"), { recursive: true });
    await watch();
    await expectNoMore(() => mkdirSync(join(outer, "elsewhere")));
    await expectNoMore(() => mkdirSync(join(outer, "hooks", "beside"), { recursive: true }));
    await expectMore(() => write("a.ts"));
    await expectMore(() => write("a.ts", "two"));
    await expectMore(() => rmSync(folder, { recursive: true }));
    await quiet(LONG_MS);
    await expectMore(() => write("b.ts"));
    await expectMore(() => write("b.ts", "two"));
  });

  it("sees what a folder that is a link leads to, also when it leads elsewhere later", async () => {
    renameSync(folder, join(outer, "one"));
    mkdirSync(join(outer, "two"));
    symlinkSync("../one", folder);
    await watch();
    await expectMore(() => write("a.ts"));
    await expectMore(() => {
      symlinkSync("../two", join(outer, "next"));
      renameSync(join(outer, "next"), folder);
    });
    // It is watched a little later than it is reported.
    await quiet(LONG_MS);
    await expectMore(() => write("b.ts"));
    await expectNoMore(() => writeFileSync(join(outer, "one", "a.ts"), "later"));
  });

  it("watches no more files than it may, and says so once", async () => {
    for (let file = 0; file < 5_001; file++) write(`${file}.ts`);
    await watch();
    expect(errors.map(String)).toEqual([`Error: ${folder} holds more than the 5000 files that are watched.`]);
    write("e.ts");
    await pause(300);
    expect(errors).toHaveLength(1);
  });

  it("makes room for new files when others are removed", async () => {
    // The folder itself counts as well.
    for (let file = 0; file < 4_999; file++) write(`${file}.ts`);
    await watch();
    await expectMore(() => unlinkSync(join(folder, "0.ts")));
    await expectMore(() => write("c.ts"));
    await expectMore(() => write("c.ts", "two"));
    expect(errors).toEqual([]);
  });

  it("says nothing once it is closed", async () => {
    await watch();
    write("a.ts");
    await pause(30);
    await watching?.close();
    write("b.ts");
    await pause(300);
    expect(changes).toBe(0);
  });
});
