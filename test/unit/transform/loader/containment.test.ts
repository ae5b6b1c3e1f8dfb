import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { containedPath, isInside } from "../../../../src/transform/loader/containment.ts";

let outer = "";
let root = "";

beforeEach(() => {
  outer = realpathSync(mkdtempSync(join(tmpdir(), "reveille-containment-")));
  root = join(outer, "root");
  mkdirSync(join(root, "sub"), { recursive: true });
  mkdirSync(join(outer, "elsewhere"));
  writeFileSync(join(root, "a.ts"), "");
  writeFileSync(join(outer, "elsewhere", "secret.ts"), "");
});

afterEach(() => {
  rmSync(outer, { recursive: true, force: true });
});

const lies = { ok: false, reason: "lies outside" };
const leads = { ok: false, reason: "leads outside by a link" };

describe("containedPath", () => {
  it("resolves a relative path against the folder", () => {
    expect(containedPath(root, "a.ts")).toEqual({ ok: true, path: join(root, "a.ts") });
    expect(containedPath(root, "sub/../a.ts")).toEqual({ ok: true, path: join(root, "a.ts") });
  });

  it("takes an absolute path that lies inside", () => {
    expect(containedPath(root, join(root, "a.ts"))).toEqual({ ok: true, path: join(root, "a.ts") });
  });

  it("takes the folder itself", () => {
    expect(containedPath(root, root)).toEqual({ ok: true, path: root });
    expect(containedPath(root, ".")).toEqual({ ok: true, path: root });
  });

  it("takes a name that only begins like the way out", () => {
    expect(containedPath(root, "..a.ts")).toEqual({ ok: true, path: join(root, "..a.ts") });
    expect(containedPath(root, ".../a.ts")).toEqual({ ok: true, path: join(root, ".../a.ts") });
  });

  it.each(["..", "../elsewhere/secret.ts", "sub/../../elsewhere/secret.ts", "/etc/passwd", "/"])(
    "spec 4.3: refuses %s, which leaves the folder as written",
    (given) => {
      expect(containedPath(root, given)).toEqual(lies);
    },
  );

  it("spec 4.3: refuses a sibling whose name begins with the folder's", () => {
    mkdirSync(join(outer, "root-2"));
    expect(containedPath(root, "../root-2/a.ts")).toEqual(lies);
  });

  it("refuses a file that is a link out of the folder", () => {
    symlinkSync("../elsewhere/secret.ts", join(root, "out.ts"));
    expect(containedPath(root, "out.ts")).toEqual(leads);
  });

  it("refuses a missing file below a link out of the folder", () => {
    symlinkSync(join(outer, "elsewhere"), join(root, "out"));
    expect(containedPath(root, "out/not/yet/there.ts")).toEqual(leads);
  });

  it("follows links that stay inside and returns the real path", () => {
    symlinkSync("../a.ts", join(root, "sub", "in.ts"));
    symlinkSync(join(root, "sub"), join(root, "again"));
    expect(containedPath(root, "again/in.ts")).toEqual({ ok: true, path: join(root, "a.ts") });
  });

  it("takes a folder that is itself a link, on either way to its files", () => {
    const link = join(outer, "link");
    symlinkSync("root", link);
    expect(containedPath(link, "a.ts")).toEqual({ ok: true, path: join(root, "a.ts") });
    expect(containedPath(link, "missing.ts")).toEqual({ ok: true, path: join(root, "missing.ts") });
    expect(containedPath(link, join(link, "a.ts"))).toEqual({ ok: true, path: join(root, "a.ts") });
  });

  it("judges what does not exist by its nearest existing ancestor", () => {
    const missing = join(outer, "not", "there");
    expect(containedPath(missing, "sub/a.ts")).toEqual({ ok: true, path: join(missing, "sub", "a.ts") });
    expect(containedPath(missing, "../a.ts")).toEqual(lies);
  });

  it("refuses a link to nothing, wherever it would lead", () => {
    symlinkSync(join(root, "later.ts"), join(root, "dangling.ts"));
    symlinkSync("nowhere", join(root, "dangling"));
    const refused = { ok: false, reason: "cannot be resolved (a link to nothing)" };
    expect(containedPath(root, "dangling.ts")).toEqual(refused);
    expect(containedPath(root, "dangling/a.ts")).toEqual(refused);
  });

  it("refuses what the file system cannot resolve, instead of throwing", () => {
    symlinkSync("loop.ts", join(root, "loop.ts"));
    expect(containedPath(root, "loop.ts")).toEqual({ ok: false, reason: "cannot be resolved (ELOOP)" });
    expect(containedPath(root, "a.ts/b.ts")).toEqual({ ok: false, reason: "cannot be resolved (ENOTDIR)" });
    expect(containedPath(root, "a\0.ts")).toMatchObject({ ok: false });
    expect(containedPath(root, `${"x".repeat(300)}.ts`)).toMatchObject({ ok: false });
  });
});

describe("isInside", () => {
  it("compares whole names and takes the folder itself", () => {
    expect(isInside("/a/b", "/a/b")).toBe(true);
    expect(isInside("/a/b", "/a/b/c")).toBe(true);
    expect(isInside("/a/b", "/a/b/..c")).toBe(true);
    expect(isInside("/a/b", "/a/bc")).toBe(false);
    expect(isInside("/a/b", "/a")).toBe(false);
    expect(isInside("/", "/a")).toBe(true);
  });
});
