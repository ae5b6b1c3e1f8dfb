import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { detectWalls, networkWithoutNamespace, tryWalls } from "../../../../src/transform/sandbox/detect-walls.ts";
import { probeWalls } from "../../../../src/transform/sandbox/probe-walls.ts";
import { nodesWith, processesWith, until } from "./process-list.ts";
import { PoolSnapshot, call } from "./pool-snapshot.ts";

const nothing = (): undefined => undefined;
/** A folder with a program of that name. */
function program(name: string, text: string): Disposable & { readonly path: string } {
  const folder = mkdtempSync(join(tmpdir(), "reveille-program-"));
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return { path, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

describe("the walls of this machine", () => {
  it("are found once, and Node runs behind them", { timeout: 60_000 }, async () => {
    const walls = await detectWalls();

    expect(detectWalls()).toBe(detectWalls());
    expect(walls.command.every((part) => part !== "")).toBe(true);
    expect(walls.memoryWatch).toBe(process.platform === "linux");
    expect(walls.network === "namespace").toBe(walls.command.includes("--net"));
    expect(walls.processes === "namespace").toBe(walls.command.includes("--pid"));
    expect(walls.endsWithGateway).toBe(walls.command.includes("--pdeathsig"));
    console.log(`walls of this machine: ${walls.command.join(" ") || "none"}; limits by ${walls.prlimit ?? "nothing"}`);
  });

  it("hold what they say, each tried in a real sandbox", { timeout: 120_000 }, async () => {
    const walls = await detectWalls();

    const reports = await probeWalls(walls);

    const by = new Map(reports.map((report) => [report.wall, report.by]));
    expect(reports.filter(({ holds }) => !holds).map(({ wall }) => wall)).toEqual(
      walls.endsWithGateway ? [] : ["outlive a gateway that is killed while it is in a loop"],
    );
    expect(by.get("read files outside of its folder")).toBe("Node's permission model");
    expect(by.get("open databases")).toBe("a flag of Node");
    if (walls.network === "namespace") expect(by.get("reach the network")).toBe("network namespace");
    if (walls.processes === "namespace") expect(by.get("signal the gateway")).toBe("process namespace");
    expect(reports).toHaveLength(14);
    console.log(reports.map(({ wall, by }) => `cannot ${wall}: ${by}`).join("\n"));
  });

  it("are said to hold by name only where there are none", { timeout: 120_000 }, async () => {
    const walls = await tryWalls({ find: nothing });
    expect(walls).toMatchObject({ command: [], prlimit: undefined, processes: "by-name", endsWithGateway: false });

    const reports = await probeWalls({ ...walls, network: "by-name" });

    const by = new Map(reports.map((report) => [report.wall, report]));
    expect(by.get("reach the network")).toMatchObject({ holds: true, by: "by name only", detail: "connected" });
    expect(by.get("signal the gateway")).toMatchObject({ holds: true, by: "by name only" });
    expect(by.get("start programs")).toMatchObject({ holds: true, by: "Node's permission model" });
    expect(by.get("outlive a gateway that is killed while it is in a loop")).toMatchObject({ holds: false });
  });

  it("are not believed when a command only claims to be one", { timeout: 120_000 }, async () => {
    const walls = await tryWalls({ find: nothing });

    const reports = await probeWalls({ ...walls, network: "namespace" });

    expect(reports.find(({ wall }) => wall === "reach the network")).toMatchObject({ by: "by name only" });
  });
});

describe("looking for walls", () => {
  it("passes over a command that fails, and one that is not there", { timeout: 60_000 }, async () => {
    using unshare = program("unshare", "exit 1");
    // Runs what comes after its options.
    using setpriv = program("setpriv", `while [ "$1" != "$\{1#-}" ] || [ "$1" = KILL ]; do shift; done; exec "$@"`);

    const find = (name: string): string | undefined => ({ unshare: unshare.path, setpriv: setpriv.path })[name];
    const walls = await tryWalls({ find });

    expect(walls).toMatchObject({
      command: [setpriv.path, "--pdeathsig", "KILL", "--no-new-privs"],
      prlimit: undefined,
      network: networkWithoutNamespace(process.versions.node),
      processes: "by-name",
      endsWithGateway: true,
    });
    expect(await tryWalls({ find: (name) => (name === "unshare" ? unshare.path : undefined) })).toMatchObject({
      command: [],
    });
  });

  it("does with namespaces alone where a small system has no more", { timeout: 60_000 }, async () => {
    const { command, processes } = await detectWalls();
    const unshare = command.find((part) => part.endsWith("/unshare"));

    const walls = await tryWalls({ find: (name) => (name === "unshare" ? unshare : undefined) });

    const alone = [unshare, "--user", "--map-root-user", "--net", "--ipc", "--pid", "--fork"];
    expect([[], alone]).toContainEqual(walls.command);
    expect(walls.processes).toBe(walls.command.length > 0 ? processes : "by-name");
    expect(walls.endsWithGateway).toBe(false);
    await using snapshot = new PoolSnapshot({ "a.mjs": "export default () => ({ name: 1 });" });
    const pool = await snapshot.start({ workers: 1 }, { walls });
    expect(await pool.call(0, call(null))).toEqual({ name: 1 });
    await pool.close();
    await until(() => processesWith(snapshot.path).length === 0);
  });

  it("passes over a program that cannot be run", { timeout: 60_000 }, async () => {
    const walls = await tryWalls({ find: (name) => `/nowhere/${name}` });

    expect(walls).toMatchObject({ command: [], prlimit: undefined });
  });

  it("knows from which version on Node's permissions cover the network", () => {
    expect(networkWithoutNamespace("24.21.0")).toBe("by-name");
    expect(networkWithoutNamespace("25.0.0")).toBe("permission");
    expect(networkWithoutNamespace("26.1.0")).toBe("permission");
  });
});

describe("a gateway that is killed", () => {
  it("takes its sandbox processes with it, even one in a loop", { timeout: 60_000 }, async () => {
    const { endsWithGateway } = await detectWalls();
    await using snapshot = new PoolSnapshot({ "loop.mjs": "export default () => { for (;;); };" });
    const pool = new URL("../../../../src/transform/sandbox/sandbox-pool.ts", import.meta.url).href;
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
      const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
      const pool = await SandboxPool.start({ ...${JSON.stringify(options)}, logger });
      const context = { ...${JSON.stringify(context)}, now: new Date() };
      pool.call(0, { context, method: "POST", rawBody: new Uint8Array() });
      setTimeout(() => process.stdout.write("looping"), 200);`;
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
