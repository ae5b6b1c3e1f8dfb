import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { describeIsolation } from "../../../../../src/transform/sandbox/isolation/describe.ts";
import {
  detectIsolation,
  networkWithoutNamespace,
  isolationDetector,
} from "../../../../../src/transform/sandbox/isolation/detect.ts";
import { probeIsolation } from "../../../../../src/transform/sandbox/isolation/probe.ts";
import type { SandboxIsolation } from "../../../../../src/transform/sandbox/isolation/describe.ts";
import { nodesWith, processesWith, until } from "../process-list.ts";
import { PoolSnapshot, call } from "../pool-snapshot.ts";
import { withoutDescriptors } from "../without-descriptors.ts";

const nothing = (): undefined => undefined;
/** A folder with a program of that name. */
function program(name: string, text: string): Disposable & { readonly path: string } {
  const folder = mkdtempSync(join(tmpdir(), "reveille-program-"));
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return { path, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

describe("the isolation of this machine", () => {
  it("are found once, and Node runs behind them", { timeout: 60_000 }, async () => {
    const isolation = await detectIsolation();

    expect(detectIsolation()).toBe(detectIsolation());
    expect(isolation.command.every((part) => part !== "")).toBe(true);
    expect(isolation.memoryWatch).toBe(process.platform === "linux");
    expect(isolation.network === "namespace").toBe(isolation.command.includes("--net"));
    expect(isolation.processes === "namespace").toBe(isolation.command.includes("--pid"));
    expect(isolation.endsWithGateway).toBe(isolation.command.includes("--pdeathsig"));
    console.log(
      `isolation of this machine: ${isolation.command.join(" ") || "none"}; limits by ${isolation.prlimit ?? "nothing"}`,
    );
  });

  it("hold what they say, each tried in a real sandbox", { timeout: 120_000 }, async () => {
    const isolation = await detectIsolation();

    const reports = await probeIsolation(isolation);

    const by = new Map(reports.map((report) => [report.action, report.by]));
    expect(reports.filter(({ holds }) => !holds).map(({ action: attempt }) => attempt)).toEqual(
      isolation.endsWithGateway ? [] : ["outlive a gateway that is killed while it is in a loop"],
    );
    expect(by.get("read files outside of its folder")).toBe("Node's permission model");
    expect(by.get("open databases")).toBe("a flag of Node");
    if (isolation.network === "namespace") expect(by.get("reach the network")).toBe("network namespace");
    if (isolation.processes === "namespace") expect(by.get("signal the gateway")).toBe("process namespace");
    expect(reports).toHaveLength(14);
    console.log(reports.map(({ action: attempt, by }) => `cannot ${attempt}: ${by}`).join("\n"));
  });

  it("are said to hold by name only where there are none", { timeout: 120_000 }, async () => {
    const isolation = await isolationDetector({ find: nothing })();
    expect(isolation).toMatchObject({ command: [], prlimit: undefined, processes: "by-name", endsWithGateway: false });

    const reports = await probeIsolation({ ...isolation, network: "by-name" });

    const by = new Map(reports.map((report) => [report.action, report]));
    expect(by.get("reach the network")).toMatchObject({ holds: true, by: "by name only", detail: "connected" });
    expect(by.get("signal the gateway")).toMatchObject({ holds: true, by: "by name only" });
    expect(by.get("start programs")).toMatchObject({ holds: true, by: "Node's permission model" });
    expect(by.get("outlive a gateway that is killed while it is in a loop")).toMatchObject({ holds: false });
  });

  it("are not believed when a command only claims to be one", { timeout: 120_000 }, async () => {
    const isolation = await isolationDetector({ find: nothing })();

    const reports = await probeIsolation({ ...isolation, network: "namespace" });

    expect(reports.find(({ action: attempt }) => attempt === "reach the network")).toMatchObject({
      by: "by name only",
    });
  });
});

describe("looking for isolation", () => {
  it("passes over a command that fails, and a missing one", { timeout: 60_000 }, async () => {
    using unshare = program("unshare", "exit 1");
    // Runs what comes after its options.
    using setpriv = program("setpriv", `while [ "$1" != "$\{1#-}" ] || [ "$1" = KILL ]; do shift; done; exec "$@"`);

    const find = (name: string): string | undefined => ({ unshare: unshare.path, setpriv: setpriv.path })[name];
    const isolation = await isolationDetector({ find })();

    expect(isolation).toMatchObject({
      command: [setpriv.path, "--pdeathsig", "KILL", "--no-new-privs"],
      prlimit: undefined,
      network: networkWithoutNamespace(process.versions.node),
      processes: "by-name",
      endsWithGateway: true,
    });
    expect(
      await isolationDetector({ find: (name) => (name === "unshare" ? unshare.path : undefined) })(),
    ).toMatchObject({
      command: [],
    });
  });

  it("does with namespaces alone where a small system has no more", { timeout: 60_000 }, async () => {
    const { command, processes } = await detectIsolation();
    const unshare = command.find((part) => part.endsWith("/unshare"));

    const isolation = await isolationDetector({ find: (name) => (name === "unshare" ? unshare : undefined) })();

    const alone = [unshare, "--user", "--map-root-user", "--net", "--ipc", "--pid", "--fork"];
    expect([[], alone]).toContainEqual(isolation.command);
    expect(isolation.processes).toBe(isolation.command.length > 0 ? processes : "by-name");
    expect(isolation.endsWithGateway).toBe(false);
    await using snapshot = new PoolSnapshot({ "a.mjs": "export default () => ({ name: 1 });" });
    const pool = await snapshot.start({ workers: 1 }, { isolation: isolation });
    expect(await pool.call(0, call(null))).toEqual({ name: 1 });
    await pool.close();
    await until(() => processesWith(snapshot.path).length === 0);
  });

  it("passes over a program that cannot be run", { timeout: 60_000 }, async () => {
    const isolation = await isolationDetector({ find: (name) => `/nowhere/${name}` })();

    expect(isolation).toMatchObject({ command: [], prlimit: undefined });
    // Node does not even try to run what has such a name.
    expect(await isolationDetector({ find: (name) => `/nowhere/\0${name}` })()).toMatchObject({ command: [] });
  });

  it.each([
    ["the lack of a process", "echo 'setpriv: fork failed: Resource temporarily unavailable' >&2; exit 1", 2],
    ["a signal from outside", "kill -9 $$", 2],
    ["what is not permitted", "echo 'setpriv: setgroups failed: Operation not permitted' >&2; exit 1", 1],
    ["an option that it does not know", "echo \"setpriv: unrecognized option '--pdeathsig'\" >&2; exit 1", 1],
  ])("looks again after %s only if that may pass", { timeout: 60_000 }, async (_, failure, looks) => {
    using setpriv = program(
      "setpriv",
      `if [ ! -e "$0.tried" ]; then : > "$0.tried"; ${failure}; fi
       while [ "$1" != "\${1#-}" ] || [ "$1" = KILL ]; do shift; done; exec "$@"`,
    );
    const detect = isolationDetector({ find: (name) => (name === "setpriv" ? setpriv.path : undefined) });

    expect(await detect()).toMatchObject({ command: [], endsWithGateway: false });
    expect(await detect()).toMatchObject({ endsWithGateway: looks === 2 });
    expect(detect()).toBe(detect());
  });

  it("looks again when there was no file descriptor for a pipe", { timeout: 60_000 }, async () => {
    const detector = new URL("../../../../../src/transform/sandbox/isolation/detect.ts", import.meta.url).href;

    const { poor, rich } = await withoutDescriptors(
      `const { detectIsolation } = await import(${JSON.stringify(detector)});`,
      "await detectIsolation()",
    );

    expect(poor).toMatchObject({ command: [], prlimit: null, memoryWatch: false });
    expect(rich).toEqual(JSON.parse(JSON.stringify(await detectIsolation(), (_, value: unknown) => value ?? null)));
  });

  it("knows from which version on Node's permissions cover the network", () => {
    expect(networkWithoutNamespace("24.21.0")).toBe("by-name");
    expect(networkWithoutNamespace("25.0.0")).toBe("permission");
    expect(networkWithoutNamespace("26.1.0")).toBe("permission");
  });
});

describe("isolation in words", () => {
  const strong: SandboxIsolation = {
    command: ["/usr/bin/unshare"],
    prlimit: "/usr/bin/prlimit",
    network: "namespace",
    processes: "namespace",
    endsWithGateway: true,
    memoryWatch: true,
  };
  const weak: SandboxIsolation = {
    command: [],
    prlimit: undefined,
    network: "by-name",
    processes: "by-name",
    endsWithGateway: false,
    memoryWatch: false,
  };

  it.each<[Partial<SandboxIsolation>, string]>([
    [
      strong,
      "network and processes by namespaces, memory by the gateway's watch and by the kernel, ended with the gateway by the kernel",
    ],
    [
      weak,
      "network and processes by name only, memory by Node's heap limit only, not ended with a gateway that is killed",
    ],
    [
      { memoryWatch: true, network: "permission" },
      "network by Node's permission model, processes by name only, memory by the gateway's watch, not ended with a gateway that is killed",
    ],
    [
      { prlimit: "/x", network: "namespace" },
      "network by a namespace, processes by name only, memory by the kernel, not ended with a gateway that is killed",
    ],
  ])("say what each part is held by (%#)", (isolation, words) => {
    expect(describeIsolation({ ...weak, ...isolation })).toBe(words);
  });
});

describe("a gateway that is killed", () => {
  it("takes its sandbox processes with it, even one in a loop", { timeout: 60_000 }, async () => {
    const { endsWithGateway } = await detectIsolation();
    await using snapshot = new PoolSnapshot({
      "loop.mjs": "export default () => { for (console.log('looping');;); };",
    });
    const pool = new URL("../../../../../src/transform/sandbox/pool.ts", import.meta.url).href;
    const limits = { isolation: "process", timeoutMs: 60_000, workers: 2, maxMemoryBytes: 268_435_456 };
    const options = {
      folder: { path: snapshot.path, name: "x" },
      modules: [{ file: "loop.mjs", export: null }],
      limits: { ...limits, maxCalls: 100, maxWaiting: 10, maxResultBytes: 1_024 },
    };
    const context = { payload: null, headers: {}, query: {}, path: "x" };
    const script = `
      const { SandboxPool } = await import(${JSON.stringify(pool)});
      const nothing = () => {};
      const info = (_, message) => message === "transform: looping" && process.stdout.write("looping");
      const logger = { debug: nothing, info, warn: nothing, error: nothing };
      const pool = await SandboxPool.start({ ...${JSON.stringify(options)}, logger });
      const context = { ...${JSON.stringify(context)}, now: new Date() };
      pool.call(0, { context, method: "POST", rawBody: new Uint8Array() });`;
    const gateway = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      stdio: ["ignore", "pipe", "inherit"],
      env: {},
    });
    await new Promise((resolve) => gateway.stdout.once("data", resolve));
    expect(nodesWith(snapshot.path).filter((pid) => pid !== gateway.pid)).toHaveLength(2);

    gateway.kill("SIGKILL");

    if (endsWithGateway) await until(() => processesWith(snapshot.path).length === 0);
    // One in a loop stays; the other one notices.
    else await until(() => nodesWith(snapshot.path).length === 1);
    for (const pid of processesWith(snapshot.path)) process.kill(pid, "SIGKILL");
  });
});
