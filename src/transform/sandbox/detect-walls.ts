import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { killGroup } from "./kill-group.ts";
import { MemoryWatch, onlyChildOf } from "./memory-watch.ts";
import type { SandboxWalls } from "./walls.ts";

/** A way to begin a command line, and what it is worth. */
interface Candidate {
  readonly command: readonly (string | undefined)[];
  readonly network: boolean;
  readonly processes: boolean;
  readonly endsWithGateway: boolean;
}

/** Where a program may be that is not in the PATH of a service. */
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

let detected: Promise<SandboxWalls> | undefined;

/**
 * Finds the strongest walls that this machine gives to a sandbox process, by running Node behind each; once
 * for each process of the gateway. Never rejects: where nothing works there is no wall but Node's own.
 */
export function detectWalls(): Promise<SandboxWalls> {
  detected ??= tryWalls({ find: findProgram });
  return detected;
}

/** The same without remembering; `find` tells where a program is. */
export async function tryWalls({ find }: { find: (name: string) => string | undefined }): Promise<SandboxWalls> {
  const prlimit = await workingPrlimit(find);
  const nice = process.platform === "win32" ? undefined : find("nice");
  for (const { command, ...worth } of process.platform === "linux" ? candidates(find) : []) {
    if (!isComplete(command)) continue;
    const probed = await probe(command, { isForked: worth.processes });
    if (!probed.works) continue;
    return {
      command,
      prlimit,
      nice,
      network: worth.network ? "namespace" : networkWithoutNamespace(process.versions.node),
      processes: worth.processes ? "namespace" : "by-name",
      endsWithGateway: worth.endsWithGateway,
      memoryWatch: probed.isSeen,
    };
  }
  const { isSeen } = await probe([], { isForked: false });
  const network = networkWithoutNamespace(process.versions.node);
  return { command: [], prlimit, nice, network, processes: "by-name", endsWithGateway: false, memoryWatch: isSeen };
}

/** By the version of Node, such as `24.16.0`. */
export function networkWithoutNamespace(version: string): "permission" | "by-name" {
  return Number.parseInt(version, 10) >= NETWORK_PERMISSION_SINCE ? "permission" : "by-name";
}

/** From the strongest to the weakest. */
function candidates(find: (name: string) => string | undefined): readonly Candidate[] {
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

async function workingPrlimit(find: (name: string) => string | undefined): Promise<string | undefined> {
  const prlimit = process.platform === "linux" ? find("prlimit") : undefined;
  if (prlimit === undefined) return undefined;
  const { works } = await probe([prlimit, ...PROBE_LIMITS], { isForked: false });
  return works ? prlimit : undefined;
}

/** Runs Node behind a command; `isSeen` tells whether its memory can be watched. */
async function probe(
  command: readonly string[],
  { isForked }: { isForked: boolean },
): Promise<{ works: boolean; isSeen: boolean }> {
  const [program, ...args] = [...command, process.execPath, "--permission", "--eval", PROBE] as const;
  const child = spawn(program, args, { cwd: "/", env: {}, stdio: ["ignore", "pipe", "ignore"], detached: true });
  const patience = new AbortController();
  try {
    const works = await Promise.race([
      new Promise<boolean>((resolve) => {
        let said = "";
        child.stdout.on("data", (chunk: Buffer) => {
          said += chunk.toString("latin1");
          if (said.startsWith(UP)) resolve(true);
        });
        child.once("error", () => resolve(false));
        child.once("close", () => resolve(false));
      }),
      setTimeout(PROBE_TIMEOUT_MS, false, { signal: patience.signal }),
    ]);
    return { works, isSeen: works && child.pid !== undefined && isMemorySeen(child.pid, { isForked }) };
  } finally {
    patience.abort();
    killGroup(child.pid);
  }
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
