import {
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readBoundedFile, writePrivateFile, writePrivateFileSync } from "../../../../src/auth/keys/private-file.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "private-file-"));
  file = join(folder, "keys.json");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a private file is its owner's alone, whatever a crash has left of an earlier writing", async () => {
  writeFileSync(`${file}.tmp`, "half", { mode: 0o644 });
  await writePrivateFile(file, "größe");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, "utf8")).toBe("größe");
  expect(readdirSync(folder)).toEqual(["keys.json"]);
});

test("a file is read up to its bound in bytes, and is empty beyond it", async () => {
  writeFileSync(file, "größe");
  expect(await readBoundedFile(file, 7)).toBe("größe");
  expect(await readBoundedFile(file, 6)).toBe("");
  expect(await readBoundedFile(`${file}.none`, 6)).toBeUndefined();
  await expect(readBoundedFile(join(file, "none"), 6)).rejects.toThrow("ENOTDIR");
});

test.skipIf(process.platform !== "linux")("neither leaves a file open", async () => {
  const open = () => readdirSync("/proc/self/fd").length;
  await writePrivateFile(file, "text");
  const before = open();
  for (let time = 0; time < 20; time++) {
    await writePrivateFile(file, "text");
    await readBoundedFile(file, 100);
  }
  expect(open()).toBeLessThan(before + 10);
});

test("a private file that is written at once is its owner's alone, and follows no link that lies in its way", () => {
  const other = join(folder, "other");
  writeFileSync(other, "of someone else");
  symlinkSync(other, `${file}.tmp`);
  for (const text of ["one", "two"]) {
    writePrivateFileSync(file, text);
    expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual([text, 0o600]);
  }
  expect(readFileSync(other, "utf8")).toBe("of someone else");
});

test.skipIf(process.getuid?.() !== 0)("root leaves a file to its owner, and makes one of its own", async () => {
  const ownerOf = (): number[] => [statSync(file).uid, statSync(file).gid, statSync(file).mode & 0o777];
  writePrivateFileSync(file, "a");
  expect(ownerOf()).toEqual([0, 0, 0o600]);
  chownSync(file, 65_534, 65_533);
  writePrivateFileSync(file, "b");
  expect(ownerOf()).toEqual([65_534, 65_533, 0o600]);
  await writePrivateFile(file, "c");
  expect(ownerOf()).toEqual([65_534, 65_533, 0o600]);
  expect(readFileSync(file, "utf8")).toBe("c");
});
