import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readArchive, writeArchive } from "../../../../src/cli/backup/archive.ts";
import { newManifest, readManifest, targetOf } from "../../../../src/cli/backup/manifest.ts";

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reveille-archive-"));
  file = join(folder, "a.tar.gz");
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const long = `config/hooks/transforms/${"deep/".repeat(20)}${"n".repeat(90)}.ts`;
const contents: Readonly<Record<string, string>> = {
  "manifest.json": "{}",
  "state/empty": "",
  "state/block": "x".repeat(512),
  "state/large": "y".repeat(1_000_000),
  [long]: "z",
};

async function write(): Promise<void> {
  const entries = Object.entries(contents).map(([name, text]) => {
    const content = Buffer.from(text);
    return { name, bytes: content.length, content };
  });
  await writeArchive(file, entries, () => {});
}

async function read(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { name, bytes, content } of readArchive(file)) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    found[name] = Buffer.concat(chunks).toString();
    expect(found[name]).toHaveLength(bytes);
  }
  return found;
}

describe("the archive of a backup", () => {
  it("gives back what was put in, and tar reads it as well", async () => {
    await write();
    expect(await read()).toEqual(contents);
    const out = join(folder, "out");
    mkdirSync(out);
    execFileSync("tar", ["xzf", file, "-C", out]);
    for (const [name, text] of Object.entries(contents)) expect(readFileSync(join(out, name), "utf8")).toBe(text);
  });

  it("is refused when it is cut, whatever the place, or when its header is changed", async () => {
    await write();
    const whole = readFileSync(file);
    for (const share of [0, 0.01, 0.5, 0.9, 0.999]) {
      writeFileSync(file, whole.subarray(0, Math.floor(whole.length * share)));
      await expect(read()).rejects.toThrow(/is not a whole backup/u);
    }
    const plain = gunzipSync(whole);
    for (const length of [1, 511, 512, 700, 4_096, plain.length - 1_024]) {
      writeFileSync(file, gzipSync(plain.subarray(0, length)));
      await expect(read()).rejects.toThrow(/is not a whole backup.*truncated/u);
    }
    plain[3] = plain[3]! + 1;
    writeFileSync(file, gzipSync(plain));
    await expect(read()).rejects.toThrow(/is not a whole backup: Invalid tar header checksum/u);
    writeFileSync(file, "no archive");
    await expect(read()).rejects.toThrow(/is not a whole backup/u);
  });

  it("is refused with anything but files in it", async () => {
    symlinkSync("/etc", join(folder, "link"));
    mkdirSync(join(folder, "folder"));
    execFileSync("mkfifo", [join(folder, "pipe")]);
    writeFileSync(join(folder, "one"), "1");
    execFileSync("ln", [join(folder, "one"), join(folder, "two")]);
    for (const names of [["link"], ["folder"], ["pipe"], ["one", "two"]]) {
      execFileSync("tar", ["czf", file, "--format=ustar", "-C", folder, ...names]);
      await expect(read()).rejects.toThrow(/which is not a file/u);
    }
  });
});

describe("a name in a backup", () => {
  const locations = { configFile: "/home/me/.reveille/reveille.json5", stateDir: "/home/me/.reveille/state" };

  it("leads into the folders of configuration and state", () => {
    expect(targetOf("state/reveille.sqlite", locations)).toEqual({ root: "state", path: "reveille.sqlite" });
    expect(targetOf("config/hooks/transforms/a/b.ts", locations)).toEqual({
      root: "config",
      path: "hooks/transforms/a/b.ts",
    });
    const renamed = { ...locations, configFile: "/etc/hooks.json5" };
    expect(targetOf("config/reveille.json5", renamed)).toEqual({ root: "config", path: "hooks.json5" });
  });

  it.each([
    "../x",
    "/etc/passwd",
    "config/../x",
    "config/a/../../x",
    "config/..",
    "config/./x",
    "config//x",
    "config/",
    "config/a/",
    "config/a\\..\\b",
    "config/C:x",
    "config/a\0b",
    "config/a\nb",
    "config/state/reveille.sqlite",
    "config/state/reveille.sqlite.mark",
    "config/state",
    "state/reveille.sqlite.mark",
    "state/reveille.sqlite-wal",
    "state/../x",
    "state/agents/x",
    "reveille.json5",
    "manifest.json",
    `config/${"x".repeat(256)}`,
  ])("leads nowhere else: %j", (name) => {
    expect(() => targetOf(name, locations)).toThrow(/does not hold; nothing was written/u);
    expect(() => targetOf(name, { ...locations, configFile: "/home/me/.reveille/x.json5" })).toThrow(
      /nothing was written/u,
    );
  });

  it("is not in a manifest twice, also not in other letters", () => {
    const files = ["config/a", "config/A"].map((name) => ({ name, bytes: 0, sha256: "" }));
    const facts = { program: "1", at: "now", hasSecrets: false, isOnPostgres: false, leftOut: [] };
    expect(() => readManifest(JSON.stringify(newManifest({ ...facts, files })))).toThrow("names a file twice");
  });

  it.each([
    ["", "its manifest is not JSON"],
    ["null", "not a backup of Reveille"],
    ["{}", "not a backup of Reveille"],
    ['{"format":"reveille-backup","version":2}', "newer version"],
    ['{"format":"reveille-backup","version":1}', "damaged"],
    [
      '{"format":"reveille-backup","version":1,"at":"","program":"","files":[{"name":"x","bytes":-1,"sha256":""}]}',
      "damaged",
    ],
    ['{"format":"reveille-backup","version":1,"at":"","program":"","files":[],"leftOut":{}}', "damaged"],
    ['{"format":"reveille-backup","version":1,"at":{},"program":"","files":[]}', "damaged"],
  ])("is not taken from a manifest such as %j", (text, reason) => {
    expect(() => readManifest(text)).toThrow(reason);
  });
});
