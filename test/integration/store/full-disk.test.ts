import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FullDiskReport } from "./full-disk-report.ts";

const script = fileURLToPath(new URL("./full-disk-process.ts", import.meta.url));
const MB = 1024 * 1024;

/** A file system of its own for one process, if this machine lets us; it goes away with the process. */
const unshare = [
  ["unshare", "--mount"],
  ["unshare", "--map-root-user", "--mount"],
].find(
  ([command, ...options]) => spawnSync(command!, [...options, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).status === 0,
);

describe("a store whose disk is full", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "full-disk-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const expected: Partial<FullDiskReport> = {
    refusedToOpen: "UNAVAILABLE",
    refusals: ["UNAVAILABLE"],
    refusedAfterRoom: [],
    missing: 0,
    unasked: 0,
    broken: 0,
    integrity: "ok",
  };

  it("issue 1: refuses with UNAVAILABLE, has nothing half written, and accepts again when space returns", async () => {
    const report = await fillDisk(folder, { diskBytes: 16 * MB, fillerBytes: 13 * MB, bodyBytes: 4000 });
    expect(report).toMatchObject(expected);
    expect(report.acknowledgedWhenFull).toBeGreaterThan(50);
  });

  it("does so too when the disk fills up while the log is copied into the file", async () => {
    // The log takes half of the room; copying it into the file needs the other half.
    const sizes = { diskBytes: 160 * MB, fillerBytes: 130 * MB, bodyBytes: 60_000 };
    // A limit on each file's size never lets the log grow long enough for that.
    const failingCopies = unshare === undefined ? 0 : 1;
    const report = await fillDisk(folder, sizes, failingCopies);
    expect(report).toMatchObject(expected);
    expect(report.copyFailures).toBeGreaterThanOrEqual(failingCopies);
  });
});

/** Where no file system can be mounted, a limit on the size of files stands for the full disk. */
async function fillDisk(
  folder: string,
  sizes: { diskBytes: number; fillerBytes: number; bodyBytes: number },
  failingCopies = 0,
): Promise<FullDiskReport> {
  const { diskBytes, fillerBytes, bodyBytes } = sizes;
  const node = [process.execPath, script, folder];
  const command =
    unshare === undefined
      ? ["prlimit", `--fsize=${diskBytes - fillerBytes}:unlimited`, ...node, "raise-limit", "0", `${bodyBytes}`]
      : [
          ...unshare,
          "sh",
          "-c",
          'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && exec "$@"',
          "sh",
          `${diskBytes}`,
          folder,
          ...node,
          "remove-filler",
          `${fillerBytes}`,
          `${bodyBytes}`,
          `${failingCopies}`,
        ];
  const { stdout } = await promisify(execFile)(command[0]!, command.slice(1));
  return JSON.parse(stdout) as FullDiskReport;
}
