/** Where a run works: a folder of the owner, or a working copy of a git repository. */
import { execFile } from "node:child_process";
import { hash } from "node:crypto";
import { lstat, mkdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { WorkspaceSpec } from "../../../core/agent-rights.ts";
import { reasonOf } from "../../../core/reason-of.ts";
import { copiesOf, madeIn, stampsIn } from "./copies.ts";

export interface Workspace {
  /** Absolute. */
  readonly cwd: string;
  /** Removes a working copy that nothing continues. */
  release(): Promise<void>;
}

export interface WorkspaceOptions {
  /** Folder of all that is about working copies, in the gateway's state; agents see {@link copiesOf} it alone. */
  readonly folder: string;
  readonly sessionKey: string;
  /** The copy stays for the next turn of its session. */
  readonly isKept: boolean;
  readonly runId: string | undefined;
  readonly signal: AbortSignal;
}

/** The repository or the ref could not be had; the message says which. */
export class WorkspaceError extends Error {
  override readonly name = "WorkspaceError";
  /** Absent: another try would fail as well. */
  readonly retryable?: true;

  constructor(message: string, reason: string) {
    super(message);
    if (!FINAL.test(reason)) this.retryable = true;
  }
}

/** What git says of a repository or a ref that is not there, or not for this gateway. */
const FINAL =
  /couldn't find remote ref|not our ref|not found|not appear to be a git repository|not allowed|Authentication failed|could not read Username|Permission denied/u;

const run = promisify(execFile);
const GIT_MS = 300_000;
const MAX_OUTPUT_BYTES = 1_048_576;

/**
 * Files and folders by which a checkout would configure the agent that works in it: some agents ask for nothing that
 * such a file allows. They are left out of a copy, and its git takes them for unchanged.
 */
const AGENT_SETTINGS = [
  ".claude",
  ".codex",
  ".crush.json",
  ".cursor",
  ".gemini",
  ".mcp.json",
  ".opencode",
  ".qwen",
  "crush.json",
  "opencode.json",
  "opencode.jsonc",
] as const;

/** One fetch into a repository at a time: its files are shared. */
const busy = new Map<string, Promise<unknown>>();

/** Makes the workspace ready. Rejects with a {@link WorkspaceError}. */
export async function openWorkspace(
  { path, git }: WorkspaceSpec,
  options: WorkspaceOptions,
): Promise<Workspace | undefined> {
  if (path !== undefined) return { cwd: path, release: () => Promise.resolve() };
  if (git === undefined) return undefined;
  const { folder, sessionKey, runId, isKept, signal } = options;
  const repository = join(folder, "repositories", short(git.url));
  const name = short(isKept ? `${git.url} ${sessionKey}` : `${git.url} ${runId ?? sessionKey}`);
  const copy = join(copiesOf(folder), name);
  const made = join(madeIn(folder), name);
  const stamp = isKept ? join(stampsIn(folder), name) : undefined;
  const release = (): Promise<void> => (isKept ? Promise.resolve() : rm(copy, { recursive: true, force: true }));
  try {
    await checkOut(git, { repository, made, copy, stamp, signal });
    return { cwd: copy, release };
  } catch (error) {
    await release();
    await rm(made, { recursive: true, force: true });
    const reason = withoutSecrets(reasonOf(error).trim());
    const what = `The working copy of ${withoutSecrets(git.url)} at ${git.ref} could not be made`;
    throw new WorkspaceError(`${what}: ${reason}`, reason);
  }
}

interface Checkout {
  readonly repository: string;
  readonly made: string;
  readonly copy: string;
  /** Absent: the copy is of one run. */
  readonly stamp: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * A copy is a repository of its own, which the agent may change as it likes; so the gateway never runs git in a folder
 * that an agent can write: a copy is made elsewhere, and moved. A kept copy stays while the ref names the same commit,
 * and is replaced when it has moved.
 */
async function checkOut(
  { url, ref }: { readonly url: string; readonly ref: string },
  { repository, made, copy, stamp, signal }: Checkout,
): Promise<void> {
  const commit = await alone(repository, () => fetchedAnew(repository, { url, ref, signal }));
  if (stamp !== undefined) {
    const madeOf = await readFile(stamp, "utf8").catch(() => undefined);
    const found = await lstat(copy).catch(() => undefined);
    if (madeOf === commit && found?.isDirectory() === true) {
      await utimes(stamp, new Date(), new Date());
      // Nor may an earlier turn configure a later one.
      for (const name of AGENT_SETTINGS) await rm(join(copy, name), { recursive: true, force: true });
      return;
    }
    await rm(stamp, { force: true });
  }
  await rm(made, { recursive: true, force: true });
  await mkdir(made, { recursive: true, mode: 0o700 });
  await command(made, ["init", "--quiet"], signal);
  await command(made, ["remote", "add", "origin", withoutSecrets(url)], signal);
  await command(made, ["fetch", "--quiet", "--depth=1", "--", repository, commit], signal);
  const patterns = ["/*", ...AGENT_SETTINGS.map((name) => `!${name}`)];
  await command(made, ["sparse-checkout", "set", "--no-cone", ...patterns], signal);
  await command(made, ["checkout", "--quiet", "--detach", "FETCH_HEAD"], signal);
  await rm(copy, { recursive: true, force: true });
  await mkdir(dirname(copy), { recursive: true, mode: 0o700 });
  await rename(made, copy);
  if (stamp === undefined) return;
  await mkdir(dirname(stamp), { recursive: true, mode: 0o700 });
  await writeFile(stamp, commit);
}

interface Fetched {
  readonly url: string;
  readonly ref: string;
  readonly signal: AbortSignal;
}

/** Like {@link fetched}; a repository that cannot be used is created again, once. */
async function fetchedAnew(repository: string, what: Fetched): Promise<string> {
  try {
    return await fetched(repository, what);
  } catch (error) {
    if (what.signal.aborted) throw error;
    // What was ended in the middle of its work leaves locks behind.
    await rm(repository, { recursive: true, force: true });
    return await fetched(repository, what);
  }
}

/** Fetches the ref and resolves with its commit. */
async function fetched(repository: string, { url, ref, signal }: Fetched): Promise<string> {
  signal.throwIfAborted();
  const isNew = (await stat(join(repository, "HEAD")).catch(() => undefined)) === undefined;
  await mkdir(repository, { recursive: true, mode: 0o700 });
  if (isNew) await command(repository, ["init", "--bare", "--quiet"], signal);
  await command(repository, ["fetch", "--quiet", "--no-tags", "--depth=1", "--", url, ref], signal);
  return await command(repository, ["rev-parse", "FETCH_HEAD"], signal);
}

/** Nothing of a repository is executed: no hooks, no prompts, no helpers that it names. */
async function command(cwd: string, args: readonly string[], signal: AbortSignal): Promise<string> {
  const { stdout } = await run("git", [...SETTINGS, ...args], {
    cwd,
    timeout: GIT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
    env: { ...process.env, LC_ALL: "C", GIT_TERMINAL_PROMPT: "0", GIT_ASKPASS: "true", GIT_LFS_SKIP_SMUDGE: "1" },
    signal,
  });
  return stdout.trim();
}

const SETTINGS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "protocol.ext.allow=never",
  "submodule.recurse=false",
  "fetch.recurseSubmodules=false",
  "uploadpack.allowAnySHA1InWant=true",
].flatMap((setting) => ["-c", setting]);

async function alone<Result>(repository: string, work: () => Promise<Result>): Promise<Result> {
  const before = busy.get(repository) ?? Promise.resolve();
  const mine = before.then(work, work);
  const settled = mine.catch(() => undefined);
  busy.set(repository, settled);
  try {
    return await mine;
  } finally {
    if (busy.get(repository) === settled) busy.delete(repository);
  }
}

function short(text: string): string {
  return hash("sha256", text, "hex").slice(0, 24);
}

/** A URL may hold a password. */
function withoutSecrets(text: string): string {
  return text.replaceAll(/(\w+:\/\/)[^/@\s]+@/gu, "$1***@");
}
