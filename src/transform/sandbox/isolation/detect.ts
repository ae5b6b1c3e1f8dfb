import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { killGroup } from "../spawn.ts";
import { MemoryWatch, onlyChildOf } from "../memory-watch.ts";
import type { SandboxIsolation } from "./describe.ts";

/** A way to begin a command line, and what it is worth. */
interface Candidate {
  readonly command: readonly (string | undefined)[];
  readonly network: boolean;
  readonly processes: boolean;
  readonly endsWithGateway: boolean;
}

/** Folders of programs that may be missing in the PATH of a service. */
const FOLDERS = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin", "/run/current-system/sw/bin"];
/** A command that does not work fails at once; this is for a machine that is very busy. */
const PROBE_TIMEOUT_MS = 10_000;
/** From this version on, Node's permission model covers the network. */
const NETWORK_PERMISSION_SINCE = 25;
const UP = "up";
/** Stays until it is killed, so that its memory can be looked at. */
const PROBE = `process.stdout.write("${UP}"); setTimeout(() => {}, ${PROBE_TIMEOUT_MS});`;
/** Room for Node, which sets aside much more than it uses. */
const PROBE_LIMITS = ["--core=0", "--fsize=0", "--data=1140850688"];

/**
 * Errors of a machine that does not support an isolation, now or later. Any other error, such as the lack of
 * memory or of processes, may pass.
 */
const REFUSED =
  /not permitted|permission denied|not implemented|not supported|invalid argument|(?:unrecognized|unknown|invalid) option/i;
const MAX_COMPLAINT_CHARACTERS = 4_096;

type FindProgram = (name: string) => string | undefined;

interface FoundIsolation {
  readonly isolation: SandboxIsolation;
  /** False when something went wrong on the way that may not do so again. */
  readonly isFinal: boolean;
}

/** The result of running Node behind a command. */
interface Probed {
  readonly works: boolean;
  /** Its memory can be watched. */
  readonly isSeen: boolean;
  /** Another try would end the same way. */
  readonly isFinal: boolean;
}

/**
 * Finds the strongest isolation that this machine supports for a sandbox process, by running Node behind each. Never
 * rejects: where nothing works, only Node's own isolation remains.
 *
 * Remembers it, unless a stronger one failed for a reason that may pass; then the next call tries again.
 */
export const detectIsolation = isolationDetector({ find: findProgram });

/** The same with a memory of its own; `find` finds a program. */
export function isolationDetector({ find }: { readonly find: FindProgram }): () => Promise<SandboxIsolation> {
  let detected: Promise<SandboxIsolation> | undefined;
  return () => {
    detected ??= findIsolation(find).then(({ isolation, isFinal }) => {
      if (!isFinal) detected = undefined;
      return isolation;
    });
    return detected;
  };
}

async function findIsolation(find: FindProgram): Promise<FoundIsolation> {
  let isFinal = true;
  const probing: typeof probe = async (...given) => {
    const probed = await probe(...given);
    isFinal &&= probed.isFinal;
    return probed;
  };
  const prlimit = await workingPrlimit(find, probing);
  const nice = process.platform === "win32" ? undefined : find("nice");
  for (const { command, ...worth } of process.platform === "linux" ? candidates(find) : []) {
    if (!isComplete(command)) continue;
    const probed = await probing(command, { isForked: worth.processes });
    if (!probed.works) continue;
    const isolation: SandboxIsolation = {
      command,
      prlimit,
      nice,
      network: worth.network ? "namespace" : networkWithoutNamespace(process.versions.node),
      processes: worth.processes ? "namespace" : "by-name",
      endsWithGateway: worth.endsWithGateway,
      memoryWatch: probed.isSeen,
    };
    return { isolation, isFinal };
  }
  const { isSeen: memoryWatch } = await probing([], { isForked: false });
  const network = networkWithoutNamespace(process.versions.node);
  const none = { command: [], processes: "by-name", endsWithGateway: false } as const;
  return { isolation: { ...none, prlimit, nice, network, memoryWatch }, isFinal };
}

/** By the version of Node, such as `24.16.0`. */
export function networkWithoutNamespace(version: string): "permission" | "by-name" {
  return Number.parseInt(version, 10) >= NETWORK_PERMISSION_SINCE ? "permission" : "by-name";
}

/** From the strongest to the weakest. */
function candidates(find: FindProgram): readonly Candidate[] {
  const [unshare, setpriv] = [find("unshare"), find("setpriv")];
  const asUser = [unshare, "--user", "--map-root-user"];
  // After --user, since entering a user namespace forgets it.
  const endsWithGateway = [setpriv, "--pdeathsig", "KILL"];
  const namespaces = [unshare, "--net", "--ipc", "--pid", "--fork", "--kill-child=KILL"];
  const network = [unshare, "--net", "--ipc"];
  const noRights = [setpriv, "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"];
  const ownProc = "--mount-proc";
  const all = { network: true, processes: true, endsWithGateway: true };
  return [
    { ...all, command: [...asUser, ...endsWithGateway, ...namespaces, ownProc, ...noRights] },
    { ...all, command: [...asUser, ...endsWithGateway, ...namespaces, ...noRights] },
    // A gateway that is root may do without a user namespace, which some machines do not have.
    { ...all, command: [...endsWithGateway, ...namespaces, ownProc, ...noRights] },
    { ...all, command: [...endsWithGateway, ...namespaces, ...noRights] },
    { ...all, processes: false, command: [...asUser, ...endsWithGateway, ...network, ...noRights] },
    { ...all, processes: false, command: [...endsWithGateway, ...network, ...noRights] },
    // The `unshare` of small systems, which come without `setpriv`.
    { ...all, endsWithGateway: false, command: [...asUser, "--net", "--ipc", "--pid", "--fork"] },
    { network: false, processes: false, endsWithGateway: true, command: [...endsWithGateway, "--no-new-privs"] },
  ];
}

function isComplete(command: readonly (string | undefined)[]): command is readonly string[] {
  return !command.includes(undefined);
}

async function workingPrlimit(find: FindProgram, probing: typeof probe): Promise<string | undefined> {
  const prlimit = process.platform === "linux" ? find("prlimit") : undefined;
  if (prlimit === undefined) return undefined;
  const { works } = await probing([prlimit, ...PROBE_LIMITS], { isForked: false });
  return works ? prlimit : undefined;
}

/** Runs Node behind a command. */
async function probe(command: readonly string[], { isForked }: { readonly isForked: boolean }): Promise<Probed> {
  const [program, ...args] = [...command, process.execPath, "--permission", "--eval", PROBE] as const;
  const patience = new AbortController();
  let child: ChildProcess | undefined;
  try {
    child = spawn(program, args, { cwd: "/", env: {}, stdio: ["ignore", "pipe", "pipe"], detached: true });
    const outcome = await Promise.race([
      outcomeOf(child),
      setTimeout(PROBE_TIMEOUT_MS, "unclear" as const, { signal: patience.signal }),
    ]);
    if (outcome !== "works") return { works: false, isSeen: false, isFinal: outcome === "refused" };
    const isSeen = child.pid !== undefined && isMemorySeen(child.pid, { isForked });
    return { works: true, isSeen, isFinal: isSeen || process.platform !== "linux" };
  } catch {
    // Node throws some of the errors of the system, and reports the others by an event.
    return { works: false, isSeen: false, isFinal: false };
  } finally {
    patience.abort();
    killGroup(child?.pid);
  }
}

function outcomeOf(child: ChildProcess): Promise<"works" | "refused" | "unclear"> {
  return new Promise((resolve) => {
    child.on("error", (error) => resolve("code" in error && isLasting(error.code) ? "refused" : "unclear"));
    let said = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      said += chunk.toString("latin1");
      if (said.startsWith(UP)) resolve("works");
    });
    let complaint = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      complaint = (complaint + chunk.toString("latin1")).slice(-MAX_COMPLAINT_CHARACTERS);
    });
    child.once("close", (code) => resolve(code !== null && REFUSED.test(complaint) ? "refused" : "unclear"));
  });
}

/** There is no such program, or it is none that the gateway may run. */
function isLasting(code: unknown): boolean {
  return code === "ENOENT" || code === "EACCES" || code === "EPERM";
}

function isMemorySeen(pid: number, { isForked }: { isForked: boolean }): boolean {
  const node = isForked ? onlyChildOf(pid) : pid;
  const watch = node === undefined ? undefined : MemoryWatch.open(node);
  const bytes = watch?.read();
  watch?.close();
  return bytes !== undefined;
}

/** Absolute path of a program that may be run. */
function findProgram(name: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter).filter((folder) => isAbsolute(folder)), ...FOLDERS];
  return folders.map((folder) => join(folder, name)).find((path) => isExecutable(path));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
