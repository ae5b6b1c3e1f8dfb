import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TransformsConfig } from "../../../../src/config/transforms.ts";
import type { Logger } from "../../../../src/core/host.ts";
import { ModulePools, type ModulePoolsOptions } from "../../../../src/transform/sandbox/module-pools.ts";
import { SandboxPool, type SandboxPoolOptions } from "../../../../src/transform/sandbox/pool.ts";
import type { TransformCall } from "../../../../src/transform/call.ts";

export const LIMITS: TransformsConfig = {
  isolation: "process",
  timeoutMs: 5_000,
  workers: 2,
  maxMemoryBytes: 268_435_456,
  maxCalls: 10_000,
  maxWaiting: 256,
  maxResultBytes: 1_048_576,
};

/** A folder of transforms as a pool gets it, and the pools that were started on it. */
export class PoolSnapshot implements AsyncDisposable {
  readonly path: string;
  readonly lines: { readonly level: string; readonly fields: object; readonly message: string }[] = [];
  readonly #pools: { close: () => Promise<void> }[] = [];
  readonly #files: readonly string[];

  /** Text by file name; the modules are all of them, in this order. */
  constructor(files: Readonly<Record<string, string>>) {
    this.path = realpathSync(mkdtempSync(join(tmpdir(), "reveille-pool-")));
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.path, name)), { recursive: true });
      writeFileSync(join(this.path, name), text);
    }
    this.#files = Object.keys(files);
  }

  get logger(): Logger {
    const at = (level: string) => (fields: object, message: string) =>
      void (message === "transforms are ready" || this.lines.push({ level, fields, message }));
    return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  }

  async start(
    limits: Partial<TransformsConfig> = {},
    options: Partial<Omit<SandboxPoolOptions, "limits">> = {},
  ): Promise<SandboxPool> {
    const pool = await SandboxPool.start({
      folder: { path: this.path, name: "hooks/transforms" },
      modules: this.#files.map((file) => ({ file, export: null })),
      limits: { ...LIMITS, ...limits },
      logger: this.logger,
      ...options,
    });
    this.#pools.push(pool);
    return pool;
  }

  /** The same with processes for each file. */
  async startEach(
    limits: Partial<TransformsConfig> = {},
    options: Partial<Omit<ModulePoolsOptions, "limits">> = {},
  ): Promise<ModulePools> {
    const pools = await ModulePools.start({
      folder: { path: this.path, name: "hooks/transforms" },
      modules: this.#files.map((file) => ({ file, export: null })),
      limits: { ...LIMITS, ...limits },
      logger: this.logger,
      ...options,
    });
    this.#pools.push(pools);
    return pools;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.close()));
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** A call as the stage makes it. */
export function call(payload: unknown, rawBody: Uint8Array = new Uint8Array()): TransformCall {
  return {
    context: {
      payload,
      headers: {},
      query: {},
      path: "test",
      event: undefined,
      actor: undefined,
      now: new Date("2026-11-22T00:00:00Z"),
    },
    method: "POST",
    rawBody,
    deliveryId: undefined,
  };
}
