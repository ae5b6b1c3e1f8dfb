import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HOOK_TOKEN, pinned, PROGRAM } from "./servers.ts";
import { PUSH_TRANSFORM } from "./transform-payload.ts";

const GATEWAY_TOKEN = "bench-gateway-token-0123456789abcdef";

export interface TransformGatewayOptions {
  readonly isolation: "process" | "none";
  /** Further transforms by the path that they are called on. */
  readonly modules?: Readonly<Record<string, string>>;
  /** Where the gateway and its processes run; absent: wherever the system puts them. */
  readonly core?: number;
}

export interface TransformGateway {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** A gateway that wakes the main session on `/hooks/plain`, and on `/hooks/push` with a transform before. */
export async function startTransformGateway({
  isolation,
  modules = {},
  core,
}: TransformGatewayOptions): Promise<TransformGateway> {
  const folder = await mkdtemp(join(tmpdir(), "reveille-bench-"));
  const transforms = join(folder, "hooks", "transforms");
  await mkdir(transforms, { recursive: true });
  const sources = { push: PUSH_TRANSFORM, ...modules };
  for (const [path, source] of Object.entries(sources)) await writeFile(join(transforms, `${path}.mjs`), source);
  const wake = { action: "wake", wakeMode: "next-heartbeat", textTemplate: "Push to {{ref}}" };
  const config = {
    gateway: { bind: "loopback", auth: { token: GATEWAY_TOKEN }, shutdownSeconds: 1 },
    agents: { defaults: { heartbeat: { every: "0m" } } },
    hooks: {
      enabled: true,
      token: HOOK_TOKEN,
      transforms: { isolation },
      maxQueuedRuns: 10_000_000,
      mappings: [
        { match: { path: "plain" }, ...wake },
        ...Object.keys(sources).map((path) => ({ match: { path }, ...wake, transform: { module: `${path}.mjs` } })),
      ],
    },
  };
  const configFile = join(folder, "reveille.json5");
  await writeFile(configFile, JSON.stringify(config), { mode: 0o600 });
  const args = [...PROGRAM, "serve", "--config", configFile, "--state-dir", join(folder, "state"), "--port", "0"];
  const [command, commandArgs] = core === undefined ? [process.execPath, args] : pinned(core, args);
  const child = spawn(command, commandArgs, { stdio: ["ignore", "pipe", "ignore"] });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const port = await new Promise<number>((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text = (text + chunk.toString()).slice(-4_096);
      const found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1];
      if (found) resolve(Number(found));
    });
    void exited.then(() => reject(new Error("The gateway ended before it listened.")));
  });
  return {
    port,
    pid: child.pid ?? 0,
    async stop() {
      child.kill("SIGTERM");
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
