/**
 * The program `confine-worker.ts <order>`: starts a command confined and ends as it does.
 *
 * The library keeps one set of rules for each process, so each confined program has a process of its own. It runs
 * with the program's own environment, and reports to the gateway over its channel, which the program does not get.
 */
import { spawn } from "node:child_process";
import { SandboxManager } from "@anthropic-ai/sandbox-runtime";
import { reasonOf } from "../../../core/reason-of.ts";
import type { ConfineOrder, ConfineReport } from "./confinement.ts";
import { ownLoopback } from "./own-loopback.ts";

const [, , order = "{}"] = process.argv;
const { denyRead, allowRead, allowWrite, egress, command, variables } = JSON.parse(order) as ConfineOrder;
const report = (message: ConfineReport): void => void process.send?.(message);
const NOT_CONFINED = 125;

const filesystem = {
  denyRead: denyRead.map(literal),
  allowRead: [...allowRead, ownFolder()].map(literal),
  allowWrite: allowWrite.map(literal),
  denyWrite: [],
};
try {
  await SandboxManager.initialize(
    { network: { allowedDomains: [...egress], deniedDomains: [] }, filesystem },
    ({ host, port }) => {
      report({ refusedHost: port === undefined ? host : `${host}:${port}` });
      return Promise.resolve(false);
    },
  );
} catch (error) {
  fail(error);
}

// The proxy is the only way out, also for what the library takes for local.
const { direct, before } = ownLoopback(egress, process.platform);
const environment = { ...variables, NODE_USE_ENV_PROXY: "1", NO_PROXY: direct, no_proxy: direct };
const settings = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
const words = [...before, "env", ...settings, ...command];
const { argv, env } = await wrapped(words.map(quote).join(" "));
const [file = "", ...args] = argv;
const child = spawn(file, args, { stdio: "inherit", env: { ...env } });
// The gateway ends the whole group; whoever ends this process alone means the program.
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => child.kill(signal));
// The gateway is gone, and with it whoever would take the answer.
const onOrphaned = (): void => void child.kill("SIGKILL");
process.on("disconnect", onOrphaned);
child.on("error", fail);
child.on("exit", (code) => {
  process.off("disconnect", onOrphaned);
  if (process.connected) process.disconnect();
  void SandboxManager.reset().finally(() => process.exit(code ?? 1));
});

async function wrapped(line: string): ReturnType<typeof SandboxManager.wrapWithSandboxArgv> {
  try {
    // The way to the proxy is a socket among the temporary files, which are closed.
    const sockets = [SandboxManager.getLinuxHttpSocketPath(), SandboxManager.getLinuxSocksSocketPath()];
    const allowed = sockets.flatMap((path) => (path === undefined ? [] : [literal(path)]));
    const rules = { filesystem: { ...filesystem, allowRead: [...filesystem.allowRead, ...allowed] } };
    const options = { commandId: "program" };
    return await SandboxManager.wrapWithSandboxArgv(line, undefined, rules, undefined, undefined, options);
  } catch (error) {
    return fail(error);
  }
}

function fail(error: unknown): never {
  report({ problem: reasonOf(error) });
  process.exit(NOT_CONFINED);
}

/** A path is no pattern, whatever its characters. */
function literal(path: string): { path: string; literal: true } {
  return { path, literal: true };
}

/** The library starts a program of its own inside. */
function ownFolder(): string {
  return new URL("..", import.meta.resolve("@anthropic-ai/sandbox-runtime")).pathname;
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
