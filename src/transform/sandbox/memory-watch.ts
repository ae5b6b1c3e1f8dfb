import { closeSync, openSync, readFileSync, readSync } from "node:fs";

/** Parts of memory that are a process's own; the pages of Node's program are shared by all of them. */
const OWN = /^(?:RssAnon|RssShmem|VmSwap):\s*(\d+) kB$/gm;
const RESIDENT = /^VmRSS:\s*(\d+) kB$/m;
/** The file has about 1,500 bytes. */
const STATUS_BYTES = 4_096;

const buffer = Buffer.alloc(STATUS_BYTES);

/**
 * Tells how much memory a process of Linux has of its own: resident and swapped, without files that are
 * mapped, which it shares with others.
 *
 * Holds one open file until `close`, by which it never sees another process that was given the same id.
 */
export class MemoryWatch {
  #descriptor: number | undefined;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** `undefined` where there is no /proc, or no such process any more. */
  static open(pid: number): MemoryWatch | undefined {
    try {
      return new MemoryWatch(openSync(`/proc/${pid}/status`, "r"));
    } catch {
      return undefined;
    }
  }

  /** Bytes; `undefined` when the process has ended. */
  read(): number | undefined {
    if (this.#descriptor === undefined) return undefined;
    try {
      return ownBytes(buffer.toString("latin1", 0, readSync(this.#descriptor, buffer, 0, STATUS_BYTES, 0)));
    } catch {
      return undefined;
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

/** Reads the text of /proc/<pid>/status; for kernels that do not list the parts, everything resident counts. */
export function ownBytes(status: string): number | undefined {
  const parts = [...status.matchAll(OWN)];
  if (parts.some(([line]) => line.startsWith("RssAnon"))) {
    return parts.reduce((sum, [, kibibytes]) => sum + Number(kibibytes) * 1_024, 0);
  }
  const resident = RESIDENT.exec(status)?.[1];
  return resident === undefined ? undefined : Number(resident) * 1_024;
}

/** The only child of a process, such as the one that `unshare --fork` waits for. */
export function onlyChildOf(pid: number): number | undefined {
  try {
    const [child, ...others] = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").trim().split(" ");
    return child && others.length === 0 ? Number(child) : undefined;
  } catch {
    return undefined;
  }
}
