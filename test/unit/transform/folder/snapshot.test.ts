import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  watch,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FolderError } from "../../../../src/transform/errors.ts";
import { fingerprintFolder, sweepSnapshots } from "../../../../src/transform/folder/snapshot.ts";
import { withoutDescriptors } from "../sandbox/without-descriptors.ts";
import { TransformsFolder } from "./transforms-folder.ts";

async function refusal(taking: Promise<unknown>): Promise<string> {
  const error = await taking.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(FolderError);
  return error instanceof FolderError ? error.message : "";
}

function namesIn(path: string): string[] {
  return readdirSync(path, { recursive: true, encoding: "utf8" }).toSorted();
}

/** Without the package.json that each copy has. */
function copiedTo(path: string): string[] {
  return namesIn(path).filter((name) => name !== "package.json");
}

describe("what a snapshot holds", () => {
  it("has the files and folders of the folder, readable by their owner alone and writable by no one", async () => {
    using folder = new TransformsFolder({ "a.ts": "one", "sub/deep/b.mjs": "two", "sub/empty.ts": "" });
    mkdirSync(folder.at("nothing"));
    const { path } = await folder.take();
    expect(copiedTo(path)).toEqual(["a.ts", "nothing", "sub", "sub/deep", "sub/deep/b.mjs", "sub/empty.ts"]);
    expect(readFileSync(join(path, "sub/deep/b.mjs"), "utf8")).toBe("two");
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(statSync(join(path, "sub")).mode & 0o777).toBe(0o700);
    expect(statSync(join(path, "a.ts")).mode & 0o777).toBe(0o400);
    expect(path).toMatch(new RegExp(`^${folder.workDir}/${process.pid}-\\d+$`));
  });

  it("stays as it was when the folder changes and goes away", async () => {
    using folder = new TransformsFolder({ "a.ts": "one" });
    const { path } = await folder.take();
    folder.write("a.ts", "two");
    expect(readFileSync(join(path, "a.ts"), "utf8")).toBe("one");
    rmSync(folder.root.path, { recursive: true });
    expect(readFileSync(join(path, "a.ts"), "utf8")).toBe("one");
  });

  it("has the package.json of the folder, an empty one where there is none", async () => {
    using folder = new TransformsFolder({ "a.ts": "one", "sub/package.json": "{}" });
    const packageOf = async (): Promise<string> =>
      readFileSync(join((await folder.take()).path, "package.json"), "utf8");
    expect(await packageOf()).toBe("{}\n");
    folder.write("package.json", '{ "name": "own" }');
    expect(await packageOf()).toBe('{ "name": "own" }');
  });

  it("copies long files whole", async () => {
    using folder = new TransformsFolder({ "long.json": "0123456789".repeat(100_000) });
    const { path } = await folder.take();
    expect(readFileSync(join(path, "long.json"))).toEqual(readFileSync(folder.at("long.json")));
  });

  it("has links within the folder as relative ones, also those that go in circles", async () => {
    using folder = new TransformsFolder({ "node_modules/.pnpm/x/node_modules/x/index.js": "x", "a.ts": "one" });
    folder.link("node_modules/x", ".pnpm/x/node_modules/x");
    folder.link("node_modules/.pnpm/x/node_modules/x/node_modules/x", "..");
    folder.link("again", folder.root.path);
    folder.link("sub/a.ts", folder.at("a.ts"));
    folder.link("sub/via.ts", "../again/sub/a.ts");
    folder.link("here", ".");
    const { path } = await folder.take();
    expect(readlinkSync(join(path, "sub/a.ts"))).toBe("../a.ts");
    expect(readlinkSync(join(path, "sub/via.ts"))).toBe("../a.ts");
    expect(readlinkSync(join(path, "again"))).toBe(".");
    expect(readlinkSync(join(path, "node_modules/x"))).toBe(".pnpm/x/node_modules/x");
    const links = [
      "node_modules/x",
      "node_modules/.pnpm/x/node_modules/x/node_modules/x",
      "again",
      "here",
      "sub/via.ts",
    ];
    for (const link of links) {
      const real = realpathSync(folder.at(link)).slice(folder.root.path.length);
      expect(realpathSync(join(path, link))).toBe(`${path}${real}`);
    }
    expect(readFileSync(join(path, "node_modules/x/index.js"), "utf8")).toBe("x");
  });

  it("leaves out sockets, pipes and repositories, and links to them", async () => {
    using folder = new TransformsFolder({ "a.ts": "one", ".git/config": "x", "sub/.git": "gitdir: elsewhere" });
    execFileSync("mkfifo", [folder.at("pipe")]);
    folder.link("to-pipe", "pipe");
    folder.link("to-git", ".git/config");
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(folder.at("socket"), resolve));
    const { path } = await folder.take();
    server.close();
    expect(copiedTo(path)).toEqual(["a.ts", "sub"]);
  });
});

describe("what editors leave in a folder", () => {
  it("is not copied, and does not distinguish two states of it", async () => {
    using folder = new TransformsFolder({ "a.mjs": "one", "sub/b.mjs": "two" });
    const before = await fingerprintFolder(folder.root);
    folder.link(".#a.mjs", "me@host.123:456");
    folder.link("to-copy.mjs", "b.mjs~");
    const left = ["b.mjs~", "#b.mjs#", ".b.mjs.swp", ".b.mjs.swo", ".b.mjs.swx", "4913", ".DS_Store", "sub/.DS_Store"];
    for (const name of left) folder.write(name, "");
    const { path, fingerprint } = await folder.take();
    expect(copiedTo(path)).toEqual(["a.mjs", "sub", "sub/b.mjs"]);
    expect(fingerprint).toBe(before);
  });

  it("is not taken for what only looks like it", async () => {
    const names = ["#a.mjs", "4913.mjs", "a.swp.mjs", "a.tmp", "swp", "~a.mjs"];
    using folder = new TransformsFolder(Object.fromEntries(names.map((name) => [name, ""])));
    const { path } = await folder.take();
    expect(copiedTo(path)).toEqual(names);
  });
});

describe("errors of the system while a folder is copied", () => {
  it("say what to do, and count as transient when there is no file descriptor", { timeout: 60_000 }, async () => {
    using folder = new TransformsFolder({ "a.mjs": "one" });
    const module = new URL("../../../../src/transform/folder/snapshot.ts", import.meta.url).href;
    const { poor, rich } = await withoutDescriptors(
      `const { FolderSnapshot } = await import(${JSON.stringify(module)});
       const take = () => FolderSnapshot.take(${JSON.stringify(folder.root)}, { workDir: ${JSON.stringify(folder.workDir)} });`,
      "await take()",
    );
    expect(poor).toMatchObject({
      name: "FolderError",
      isPassing: true,
      said: "FolderError: hooks/transforms cannot be read (EMFILE); allow the gateway more open files (ulimit -n)",
    });
    expect(rich).toMatchObject({ fingerprint: await fingerprintFolder(folder.root) });
  });

  it("name the folder when it does not fit into the place for copies", async () => {
    const long = "n".repeat(200);
    const deep = (levels: number): string => Array.from({ length: levels }, () => long).join("/");
    using folder = new TransformsFolder({ [`${deep(12)}/a.mjs`]: "one" });
    const taking = folder.take({ workDir: join(folder.outer, deep(10)) });
    const error: unknown = await taking.catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      name: "FolderError",
      isPassing: false,
      message:
        "hooks/transforms cannot be copied to the gateway's state folder (ENAMETOOLONG); " +
        "shorten the names in it, or keep the gateway's state in a folder with a shorter path",
    });
  });

  it("name the folder when there is no place for copies", async () => {
    using folder = new TransformsFolder({ "a.mjs": "one" });
    expect(await refusal(folder.take({ workDir: folder.at("a.mjs/state") }))).toBe(
      "hooks/transforms cannot be copied to the gateway's state folder (ENOTDIR); " +
        "look at the folder and at the gateway's state folder, and try again",
    );
  });

  it.each([
    ["ENOSPC", true],
    ["EBUSY", true],
    ["EACCES", false],
  ])("of the code %s may pass: %s", (code, isPassing) => {
    const cause = Object.assign(new Error(code), { code });
    expect(new FolderError("x", { cause })).toMatchObject({ isPassing, cause });
    expect(new FolderError("x").isPassing).toBe(false);
  });
});

describe("what a snapshot refuses", () => {
  it.each([
    ["a link to a file outside", "out.ts", "../../secret", "hooks/transforms/out.ts is a link that leads out of"],
    [
      "a link to an absolute path",
      "sub/out.ts",
      "/etc/passwd",
      "hooks/transforms/sub/out.ts is a link that leads out of",
    ],
    ["a link to a folder outside", "out", "../..", "hooks/transforms/out is a link that leads out of"],
    ["a link to nothing", "out.ts", "nowhere", "hooks/transforms/out.ts is a link to nothing; remove it"],
    ["a link below a file", "out.ts", "a.ts/b.ts", "hooks/transforms/out.ts is a link to nothing; remove it"],
    ["a link to itself", "out.ts", "out.ts", "hooks/transforms/out.ts is a link that cannot be followed (ELOOP)"],
  ])("refuses %s, and leaves nothing behind", async (_, path, target, message) => {
    using folder = new TransformsFolder({ "a.ts": "one", "../../secret": "secret" });
    folder.link(path, target);
    expect(await refusal(folder.take())).toContain(message);
    expect(await refusal(fingerprintFolder(folder.root))).toContain(message);
    expect(readdirSync(folder.workDir)).toEqual([]);
  });

  it("refuses a link that leads out by a link that stays in", async () => {
    using folder = new TransformsFolder({ "../beside/secret.ts": "secret", "a.ts": "one" });
    folder.link("up", ".");
    folder.link("out.ts", "up/../beside/secret.ts");
    expect(await refusal(folder.take())).toContain("out.ts is a link that leads out of hooks/transforms; put a copy");
  });

  it("refuses a folder that is missing, and what is no folder", async () => {
    using folder = new TransformsFolder();
    rmSync(folder.root.path, { recursive: true });
    const missing = "hooks/transforms does not exist; make the folder and put the transforms into it";
    expect(await refusal(folder.take())).toBe(missing);
    expect(await refusal(fingerprintFolder(folder.root))).toBe(missing);
    writeFileSync(folder.root.path, "");
    expect(await refusal(folder.take())).toBe("hooks/transforms is not a folder");
    rmSync(folder.root.path);
    symlinkSync("..", folder.root.path);
    expect(await refusal(folder.take())).toBe("hooks/transforms is not a folder");
  });

  it("refuses more files and more bytes than it may take", async () => {
    using folder = new TransformsFolder({ "a.ts": "0123456789", "sub/b.ts": "0123456789" });
    const few = { maxEntries: 2, maxBytes: 1_000 };
    const small = { maxEntries: 10, maxBytes: 19 };
    const enough = { maxEntries: 3, maxBytes: 20 };
    expect(await refusal(folder.take({ limits: few }))).toBe(
      "hooks/transforms holds more than 2 files; keep only what transforms need in it",
    );
    expect(await refusal(folder.take({ limits: small }))).toContain("hooks/transforms holds more than 0 MiB");
    expect(existsSync((await folder.take({ limits: enough })).path)).toBe(true);
  });

  it("refuses to be made within the folder itself", async () => {
    using folder = new TransformsFolder({ "a.ts": "one" });
    expect(await refusal(folder.take({ workDir: folder.at("state") }))).toContain("must not hold the gateway's state");
  });

  it("refuses a name that is not text", async () => {
    using folder = new TransformsFolder();
    writeFileSync(Buffer.from([...Buffer.from(folder.at("a")), 0xff]), "");
    expect(await refusal(folder.take())).toContain("has a name that is not UTF-8; rename it");
  });

  it("refuses files and folders that the gateway cannot read", async () => {
    using folder = new TransformsFolder({ "a.ts": "one", "closed.ts": "two", "sub/b.ts": "three" });
    mkdirSync(folder.workDir, { recursive: true });
    const unread = "cannot be read (EACCES); let the gateway's user read it, or take it out of the folder";
    await asOrdinaryUser(folder, async () => {
      chmodSync(folder.at("closed.ts"), 0);
      expect(await refusal(folder.take())).toBe(`hooks/transforms/closed.ts ${unread}`);
      rmSync(folder.at("closed.ts"));
      chmodSync(folder.at("sub"), 0);
      expect(await refusal(folder.take())).toBe(`hooks/transforms/sub ${unread}`);
      chmodSync(folder.at("sub"), 0o755);
      expect(copiedTo((await folder.take()).path)).toEqual(["a.ts", "sub", "sub/b.ts"]);
    });
  });
});

/** The rights of root know no file that cannot be read. */
async function asOrdinaryUser(folder: TransformsFolder, work: () => Promise<void>): Promise<void> {
  if (process.getuid?.() !== 0 || !process.seteuid) {
    await work();
    return;
  }
  const nobody = 65_534;
  for (const path of [folder.outer, ...namesIn(folder.outer).map((name) => join(folder.outer, name))]) {
    chownSync(path, nobody, nobody);
  }
  process.seteuid(nobody);
  try {
    await work();
  } finally {
    process.seteuid(0);
  }
}

describe("a folder that changes while it is copied", () => {
  it("is copied as it is at one moment", async () => {
    using folder = new TransformsFolder();
    for (let at = 0; at < 200; at++) folder.write(`files/${at}.ts`, "0");
    const taking = folder.take();
    for (let round = 1; round <= 3; round++) {
      for (let at = 0; at < 200; at++) folder.write(`files/${at}.ts`, String(round));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const { path } = await taking;
    const texts = namesIn(join(path, "files")).map((name) => readFileSync(join(path, "files", name), "utf8"));
    expect(new Set(texts)).toEqual(new Set(["3"]));
    expect(readdirSync(folder.workDir)).toHaveLength(1);
  });

  it("is copied again when a file is added during the copy", async () => {
    using folder = new TransformsFolder();
    for (let at = 0; at < 200; at++) folder.write(`${at}.ts`, "x");
    mkdirSync(folder.workDir, { recursive: true });
    const begun = watch(folder.workDir, () => {
      folder.write("late.ts", "x");
      begun.close();
    });
    const { path } = await folder.take();
    expect(namesIn(path)).toContain("late.ts");
  });

  it("is refused when the changes do not end", async () => {
    using folder = new TransformsFolder();
    for (let at = 0; at < 50; at++) folder.write(`${at}.ts`, "x");
    const over = new AbortController();
    const change = async (): Promise<void> => {
      for (let round = 0; !over.signal.aborted; round++) {
        folder.write("a.ts", String(round));
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    };
    const changing = change();
    const error: unknown = await folder.take().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(FolderError);
    expect(error).toMatchObject({
      isPassing: true,
      message: "hooks/transforms keeps changing; try again when nothing writes to it",
    });
    over.abort();
    await changing;
    expect(readdirSync(folder.workDir)).toEqual([]);
  });
});

describe("what snapshots share", () => {
  const inode = (path: string): number => statSync(path).ino;

  it("shares files that have not changed with the previous one, and no others", async () => {
    using folder = new TransformsFolder({ "a.ts": "one", "sub/b.ts": "two" });
    const first = await folder.take();
    folder.write("a.ts", "new");
    folder.write("c.ts", "three");
    const second = await folder.take({ previous: first });
    expect(second.path).not.toBe(first.path);
    expect(inode(join(second.path, "sub/b.ts"))).toBe(inode(join(first.path, "sub/b.ts")));
    expect(inode(join(second.path, "a.ts"))).not.toBe(inode(join(first.path, "a.ts")));
    expect(readFileSync(join(first.path, "a.ts"), "utf8")).toBe("one");
    await first.remove();
    expect(existsSync(first.path)).toBe(false);
    expect(readFileSync(join(second.path, "sub/b.ts"), "utf8")).toBe("two");
    expect(readFileSync(join(second.path, "a.ts"), "utf8")).toBe("new");
  });

  it("does not share what only looks the same", async () => {
    using folder = new TransformsFolder({ "a.ts": "one" });
    const first = await folder.take();
    const { atime, mtime } = statSync(folder.at("a.ts"));
    folder.write("other", "two");
    renameSync(folder.at("other"), folder.at("a.ts"));
    utimesSync(folder.at("a.ts"), atime, mtime);
    const second = await folder.take({ previous: first });
    expect(readFileSync(join(second.path, "a.ts"), "utf8")).toBe("two");
  });

  it("copies everything when the previous one is gone already", async () => {
    using folder = new TransformsFolder({ "a.ts": "one" });
    const first = await folder.take();
    await first.remove();
    const { path } = await folder.take({ previous: first });
    expect(readFileSync(join(path, "a.ts"), "utf8")).toBe("one");
  });
});

describe("fingerprints", () => {
  it("are equal as long as the folder is the same, that of a snapshot included", async () => {
    using folder = new TransformsFolder({ "a.ts": "one", "sub/b.ts": "two" });
    folder.link("again", "sub");
    const { fingerprint } = await folder.take();
    expect(await fingerprintFolder(folder.root)).toBe(fingerprint);
    folder.write("a.ts.swp", "an editor's");
    rmSync(folder.at("a.ts.swp"));
    folder.write(".git/index", "x");
    expect(await fingerprintFolder(folder.root)).toBe(fingerprint);
  });

  it.each<[string, (folder: TransformsFolder) => void]>([
    ["a file is written", (folder) => folder.write("a.ts", "other")],
    ["a file is replaced by one of its length and time", replaceUnseen],
    ["a file is touched", (folder) => utimesSync(folder.at("a.ts"), 1, 1)],
    ["a file is added", (folder) => folder.write("sub/c.ts", "")],
    ["a file is removed", (folder) => rmSync(folder.at("sub/b.ts"))],
    ["a file is renamed", (folder) => renameSync(folder.at("a.ts"), folder.at("d.ts"))],
    ["a folder is added", (folder) => mkdirSync(folder.at("more"))],
    ["a link leads elsewhere", relink],
  ])("differ when %s", async (_, change) => {
    using folder = new TransformsFolder({ "a.ts": "one", "sub/b.ts": "two" });
    folder.link("again", "sub");
    const before = await fingerprintFolder(folder.root);
    change(folder);
    expect(await fingerprintFolder(folder.root)).not.toBe(before);
  });

  function replaceUnseen(folder: TransformsFolder): void {
    const { atime, mtime } = statSync(folder.at("a.ts"));
    folder.write("new", "two");
    utimesSync(folder.at("new"), atime, mtime);
    renameSync(folder.at("new"), folder.at("a.ts"));
  }

  function relink(folder: TransformsFolder): void {
    rmSync(folder.at("again"));
    folder.link("again", "a.ts");
  }
});

describe("removing snapshots", () => {
  it("leaves other snapshots, and can be done twice", async () => {
    using folder = new TransformsFolder({ "a.ts": "one" });
    const first = await folder.take();
    const second = await folder.take();
    await first.remove();
    await first.remove();
    expect(readdirSync(folder.workDir)).toEqual([second.path.split("/").at(-1)]);
  });

  it("sweeps what processes have left that are gone, and what an earlier one of the same number has left", async () => {
    using folder = new TransformsFolder({ "a.ts": "one" });
    const { path } = await folder.take();
    const gone = spawnSync(process.execPath, ["--eval", ""]).pid;
    const others = [`${gone}-1`, `${process.pid}-987654`, `${process.ppid}-1`, "notes", `${gone}-x`];
    for (const name of others) {
      mkdirSync(join(folder.workDir, name));
      writeFileSync(join(folder.workDir, name, "a.ts"), "", { mode: 0o400 });
    }
    await sweepSnapshots(folder.workDir);
    const kept = [path.split("/").at(-1), `${process.ppid}-1`, "notes", `${gone}-x`];
    expect(new Set(readdirSync(folder.workDir))).toEqual(new Set(kept));
  });

  it("passes over names that are taken", async () => {
    using folder = new TransformsFolder({ "a.ts": "one" });
    const { path } = await folder.take();
    const at = Number(path.split("-").at(-1));
    mkdirSync(join(folder.workDir, `${process.pid}-${at + 1}`));
    const { path: next } = await folder.take();
    expect(next).toBe(join(folder.workDir, `${process.pid}-${at + 2}`));
  });

  it("has nothing to sweep where nothing was ever made", async () => {
    using folder = new TransformsFolder();
    await sweepSnapshots(folder.workDir);
    expect(existsSync(folder.workDir)).toBe(false);
    writeFileSync(join(folder.outer, "file"), "");
    await expect(sweepSnapshots(join(folder.outer, "file"))).rejects.toThrow("ENOTDIR");
  });
});
