import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { copyFolder } from "../../../../src/transform/folder/copy.ts";
import { FolderChangedError } from "../../../../src/transform/errors.ts";
import { scanFolder } from "../../../../src/transform/folder/scan.ts";
import { TransformsFolder } from "./transforms-folder.ts";

/** Copies the folder, with a change between the look at it and the copying. */
async function copyWith(folder: TransformsFolder, change: () => void | Promise<void>): Promise<string> {
  const scan = await scanFolder(folder.root);
  await change();
  const target = join(folder.outer, "target");
  mkdirSync(target);
  await copyFolder(folder.root, scan, { target, previous: undefined });
  return target;
}

function replace(folder: TransformsFolder, path: string, put: () => void): void {
  renameSync(folder.at(path), join(folder.outer, "old"));
  put();
}

function filesIn(folder: TransformsFolder): string[] {
  return readdirSync(join(folder.outer, "target"), { recursive: true, encoding: "utf8" }).filter((name) =>
    statSync(join(folder.outer, "target", name)).isFile(),
  );
}

describe("copyFolder", () => {
  it.each<[string, (folder: TransformsFolder) => void | Promise<void>]>([
    ["a link out", (folder) => replace(folder, "a.ts", () => folder.link("a.ts", "../../outside/a.ts"))],
    ["another file", (folder) => replace(folder, "a.ts", () => folder.write("a.ts", "secret"))],
    ["a pipe", (folder) => replace(folder, "a.ts", () => void execFileSync("mkfifo", [folder.at("a.ts")]))],
    ["nothing", (folder) => replace(folder, "a.ts", () => {})],
    ["a folder", (folder) => replace(folder, "a.ts", () => mkdirSync(folder.at("a.ts")))],
    ["text that was added to it", (folder) => folder.write("a.ts", "inside and more")],
  ])("copies no file in whose place there is %s", async (_, change) => {
    using folder = new TransformsFolder({ "a.ts": "inside", "../../outside/a.ts": "secret" });
    await expect(copyWith(folder, () => change(folder))).rejects.toBeInstanceOf(FolderChangedError);
    expect(filesIn(folder)).toEqual([]);
  });

  it("copies no file in whose place a socket listens", async () => {
    using folder = new TransformsFolder({ "a.ts": "inside" });
    const server = createServer();
    const listen = (): Promise<void> =>
      new Promise((resolve) => {
        rmSync(folder.at("a.ts"));
        server.listen(folder.at("a.ts"), resolve);
      });
    await expect(copyWith(folder, listen)).rejects.toBeInstanceOf(FolderChangedError);
    server.close();
    expect(filesIn(folder)).toEqual([]);
  });

  it("copies no file of a folder in whose place there is a link out", async () => {
    using folder = new TransformsFolder({ "sub/a.ts": "inside", "../../outside/a.ts": "secret" });
    const swap = (): void => replace(folder, "sub", () => folder.link("sub", "../../outside"));
    await expect(copyWith(folder, swap)).rejects.toBeInstanceOf(FolderChangedError);
    expect(filesIn(folder)).toEqual([]);
  });

  it("copies what was inspected when nothing has changed", async () => {
    using folder = new TransformsFolder({ "sub/a.ts": "inside" });
    const target = await copyWith(folder, () => {});
    expect(readFileSync(join(target, "sub/a.ts"), "utf8")).toBe("inside");
    expect(existsSync(join(target, "sub/b.ts"))).toBe(false);
  });
});

describe("the history of a folder", () => {
  it("shows a folder that was another one for a moment", async () => {
    using folder = new TransformsFolder({ "sub/a.ts": "inside", "../../outside/a.ts": "secret" });
    const before = await scanFolder(folder.root);
    await new Promise((resolve) => setTimeout(resolve, 20));
    renameSync(folder.at("sub"), folder.at("away"));
    folder.link("sub", "away");
    rmSync(folder.at("sub"));
    renameSync(folder.at("away"), folder.at("sub"));
    const after = await scanFolder(folder.root);
    expect(after.fingerprint).toBe(before.fingerprint);
    expect(after.history).not.toBe(before.history);
  });
});
