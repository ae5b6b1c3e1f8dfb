import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { detectIsolation } from "../../../src/transform/sandbox/isolation/detect.ts";
import { killGroup } from "../../../src/transform/sandbox/spawn.ts";
import { MemoryWatch, onlyChildOf } from "../../../src/transform/sandbox/memory-watch.ts";
import type { SandboxIsolation } from "../../../src/transform/sandbox/isolation/describe.ts";
import { IsolationProbe } from "./isolation-probe.ts";
import type { Attempts } from "./isolation-probe.ts";

const isolation = await detectIsolation();

function print(limit: string, by: string): void {
  console.info(`limit of this machine: ${limit}: ${by}`);
}

function nodeIn(probe: IsolationProbe): number {
  const { pid = 0 } = probe;
  return isolation.processes === "namespace" ? (onlyChildOf(pid) ?? 0) : pid;
}

/** What Node's permission model refuses on every machine. */
const ALWAYS_REFUSED = [
  "read a file outside",
  "list a folder outside",
  "write a file",
  "write beside itself",
  "start a process",
  "start a thread",
  "load an addon",
  "open the inspector",
  "see the environment",
] as const satisfies readonly (keyof Attempts)[];

describe("the isolation of this machine", () => {
  it("hold in a process from which nothing was taken by name", async () => {
    using probe = await IsolationProbe.open();
    const attempts = await probe.run(isolation);
    for (const [what, attempt] of Object.entries(attempts)) {
      print(what, "refused" in attempt ? `refused (${attempt.refused})` : "only refused by name");
    }
    for (const what of ALWAYS_REFUSED)
      expect({ what, ...attempts[what] }).toEqual({ what, refused: expect.any(String) });
    const byNetwork = { namespace: { refused: "ENETUNREACH" }, permission: { refused: "ERR_ACCESS_DENIED" } };
    const connected = { done: "undefined" };
    expect(attempts["reach the network"]).toEqual(
      isolation.network === "by-name" ? connected : byNetwork[isolation.network],
    );
    const isAlone = isolation.processes === "namespace";
    expect(attempts["signal the gateway"]).toEqual(isAlone ? { refused: "ESRCH" } : { done: "true" });
  });

  it("are the ones that make the difference", async () => {
    using probe = await IsolationProbe.open();
    const none: SandboxIsolation = {
      ...isolation,
      command: [],
      network: "by-name",
      processes: "by-name",
      endsWithGateway: false,
    };
    const attempts = await probe.run(none);
    expect(attempts["signal the gateway"]).toEqual({ done: "true" });
    for (const what of ALWAYS_REFUSED)
      expect({ what, ...attempts[what] }).toEqual({ what, refused: expect.any(String) });
  });

  it("are what the kernel knows of the process", async () => {
    using probe = await IsolationProbe.open();
    await probe.run(isolation);
    const node = nodeIn(probe);
    const watch = MemoryWatch.open(node);
    const bytes = watch?.read();
    watch?.close();
    print("its memory can be watched", isolation.memoryWatch ? "yes" : "no, only its heap has a bound");
    expect(bytes === undefined ? undefined : bytes > 1_000_000).toBe(isolation.memoryWatch ? true : undefined);
    print("core dumps and files of any length are forbidden", isolation.prlimit ?? "no, there is no prlimit");
    const limits = isolation.prlimit === undefined ? "" : readFileSync(`/proc/${node}/limits`, "utf8");
    const isForbidden = /^Max file size +0 +0 /m.test(limits) && /^Max core file size +0 +0 /m.test(limits);
    expect(isForbidden).toBe(isolation.prlimit !== undefined);
  });

  it("end with a gateway that is killed, although a loop runs behind them, where the kernel sees to it", async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "reveille-probe-")));
    const file = fileURLToPath(new URL("dying-gateway.ts", import.meta.url));
    const gateway = spawn(process.execPath, [file, folder], { stdio: ["ignore", "pipe", "inherit"] });
    let pid = 0;
    try {
      pid = await new Promise<number>((resolve, reject) => {
        gateway.stdout.once("data", (chunk: Buffer) => resolve(Number(chunk.toString())));
        gateway.once("close", () => reject(new Error("it has ended")));
      });
      const inner = isolation.processes === "namespace" ? onlyChildOf(pid) : pid;
      const isThere = (): boolean => isAlive(pid) || (inner !== undefined && isAlive(inner));
      expect(isThere()).toBe(true);
      gateway.kill("SIGKILL");
      for (let round = 0; round < 500 && isolation.endsWithGateway && isThere(); round++) await sleep(20);
      print("it ends with the gateway", isolation.endsWithGateway ? "at once" : "only when it next looks");
      expect(isThere()).toBe(!isolation.endsWithGateway);
    } finally {
      gateway.kill("SIGKILL");
      if (pid > 0) killGroup(pid);
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

/** A process that has ended and that no one has asked about is none any more. */
function isAlive(pid: number): boolean {
  try {
    if (process.platform !== "linux") return process.kill(pid, 0);
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
