import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, utimesSync } from "node:fs";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { isSafeRef } from "../../../../../src/config/workspace.ts";
import {
  copiesOf,
  removeLeftovers,
  removeOldCopies,
  workspacesOf,
} from "../../../../../src/hosts/embedded/agents/copies.ts";
import { openWorkspace, type Workspace } from "../../../../../src/hosts/embedded/agents/workspace.ts";
import { recordingLogger } from "../server/recording-logger.ts";

const folder = mkdtempSync(join(tmpdir(), "reveille-workspace-"));
const repository = join(folder, "repository");
const pwned = join(folder, "pwned");
const logger = recordingLogger();
let stateDir: string;
let workspaces: string;
let tests = 0;

function git(...args: string[]): void {
  const own = ["user.name=A", "user.email=a@example.com", "protocol.file.allow=always"];
  execFileSync("git", [...own.flatMap((setting) => ["-c", setting]), ...args], { cwd: repository, stdio: "pipe" });
}

function commit(name: string, text: string): void {
  writeFileSync(join(repository, name), text);
  git("add", ".");
  git("commit", "--quiet", "-m", name);
}

beforeAll(() => {
  mkdirSync(repository);
  git("init", "--quiet", "--initial-branch=main");
  commit("README", "hello");
});
beforeEach(() => {
  stateDir = join(folder, `state-${tests++}`);
  workspaces = workspacesOf(stateDir, "coder");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function open(
  what: {
    readonly sessionKey?: string;
    readonly isKept?: boolean;
    readonly runId?: string;
    readonly url?: string;
  } = {},
): Promise<Workspace> {
  const { url = `file://${repository}`, sessionKey = "s", isKept = true, runId = "r" } = what;
  const signal = new AbortController().signal;
  const options = { folder: workspaces, sessionKey, runId, isKept, signal };
  return (await openWorkspace({ git: { url, ref: "main" } }, options))!;
}

describe("a working copy", () => {
  it("of a session stays while the ref names the same commit, and is replaced when it has moved", async () => {
    const { cwd } = await open();
    writeFileSync(join(cwd, "note"), "kept");
    expect((await open()).cwd).toBe(cwd);
    expect(existsSync(join(cwd, "note"))).toBe(true);
    commit("NEXT", "new");
    expect((await open()).cwd).toBe(cwd);
    expect(readdirSync(cwd).toSorted()).toEqual([".git", "NEXT", "README"]);
  });

  it("runs nothing of its repository: no hook, no filter, no submodule, and a symbolic link stays one", async () => {
    mkdirSync(join(folder, "other"));
    execFileSync("git", ["init", "--quiet", join(folder, "other")]);
    writeFileSync(join(repository, ".gitmodules"), `[submodule "x"]\n\tpath = x\n\turl = ext::touch ${pwned}\n`);
    writeFileSync(join(repository, ".gitattributes"), "* filter=x\n");
    writeFileSync(join(repository, ".gitconfig"), `[filter "x"]\n\tsmudge = touch ${pwned}\n`);
    symlinkSync("/etc", join(repository, "link"));
    commit("hostile", "x");
    const { cwd } = await open();
    expect(existsSync(pwned)).toBe(false);
    expect(lstatSync(join(cwd, "link")).isSymbolicLink()).toBe(true);
  });

  it("is without what would configure the agent in it, at any depth, and git takes it for unchanged", async () => {
    for (const name of ["", "sub"]) {
      mkdirSync(join(repository, name, ".claude"), { recursive: true });
      writeFileSync(join(repository, name, ".claude/settings.json"), "{}");
      writeFileSync(join(repository, name, "opencode.json"), "{}");
    }
    commit("sub/CODE", "x");
    const { cwd } = await open();
    const found = readdirSync(cwd, { recursive: true, encoding: "utf8" }).filter((name) => !name.startsWith(".git"));
    expect(found).toContain("sub/CODE");
    expect(found.filter((name) => /opencode|claude/u.test(name))).toEqual([]);
    expect(execFileSync("git", ["status", "--porcelain"], { cwd, encoding: "utf8" })).toBe("");
    mkdirSync(join(cwd, ".opencode"));
    await open();
    expect(existsSync(join(cwd, ".opencode"))).toBe(false);
  });

  it("is never made in a folder that an agent can write, so that its settings are not read", async () => {
    const { cwd } = await open();
    writeFileSync(join(cwd, ".git/config"), `[core]\n\tsshCommand = touch ${pwned}\n\tfsmonitor = touch ${pwned}\n`);
    rmSync(join(cwd, "README"));
    await open();
    await open({ sessionKey: "other" });
    expect(existsSync(pwned)).toBe(false);
    // What an agent may see holds nothing but copies.
    expect(readdirSync(copiesOf(workspaces))).toHaveLength(2);
  });

  it("that an agent has replaced by a link is made again, and the link's target stays as it is", async () => {
    const { cwd } = await open();
    const target = join(folder, `target-${tests}`);
    mkdirSync(target);
    writeFileSync(join(target, "precious"), "x");
    rmSync(cwd, { recursive: true });
    symlinkSync(target, cwd);
    expect(lstatSync((await open()).cwd).isDirectory()).toBe(true);
    expect(readdirSync(target)).toEqual(["precious"]);
  });

  it("of a run goes with the run, and after a crash with the next start", async () => {
    const copy = await open({ isKept: false });
    await copy.release();
    expect(readdirSync(copiesOf(workspaces))).toEqual([]);
    const kept = await open();
    await open({ isKept: false });
    await removeLeftovers({ stateDir, logger });
    expect(readdirSync(copiesOf(workspaces)).map((name) => join(copiesOf(workspaces), name))).toEqual([kept.cwd]);
  });

  it("of a session is removed by its last use, whatever time the agent gives its files", async () => {
    const { cwd } = await open();
    utimesSync(cwd, new Date("2099-01-01"), new Date("2099-01-01"));
    await removeOldCopies(Date.now() - 60_000, { stateDir, logger });
    expect(existsSync(cwd)).toBe(true);
    await removeOldCopies(Date.now() + 60_000, { stateDir, logger });
    expect(existsSync(cwd)).toBe(false);
    expect(readdirSync(join(workspaces, "stamps"))).toEqual([]);
  });

  it("of a transport that runs programs cannot be had", async () => {
    await expect(open({ url: `ext::touch% ${pwned}` })).rejects.toThrow("could not be made");
    expect(existsSync(pwned)).toBe(false);
  });
});

it("a ref is a name of git and nothing else", () => {
  const hostile = [
    "--upload-pack=x",
    "-x",
    "a..b",
    "a:b",
    "+a",
    "a b",
    "a\nb",
    "a\u0000",
    "@{-1}",
    "a^",
    "a~1",
    "",
    "x.lock",
    "/a",
  ];
  expect(hostile.filter(isSafeRef)).toEqual([]);
  expect(["main", "feature/x", "refs/pull/7/head", "v1.2.3", "0a1b2c"].filter((ref) => !isSafeRef(ref))).toEqual([]);
});
