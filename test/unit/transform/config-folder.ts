import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ConfigError } from "../../../src/config/config-error.ts";
import type { MappingConfig } from "../../../src/config/hooks-config.ts";
import { loadTransforms } from "../../../src/transform/load-transforms.ts";
import type { LoadTransformsOptions } from "../../../src/transform/load-transforms.ts";
import type { TransformContext, TransformFunction } from "../../../src/transform/transform.ts";
import { RUN_DEFAULTS } from "../config/hooks-context.ts";

/** A temporary folder with a config folder `config` in it; a file's folders are made for it. */
export class ConfigFolder implements Disposable {
  readonly outer = realpathSync(mkdtempSync(join(tmpdir(), "reveille-transforms-")));
  readonly configDir = join(this.outer, "config");
  readonly base = join(this.configDir, "hooks", "transforms");
  transformsDir = this.base;

  constructor(files: Readonly<Record<string, string>> = {}) {
    mkdirSync(this.configDir);
    for (const [path, text] of Object.entries(files)) this.write(path, text);
  }

  /** `path` is relative to hooks/transforms. */
  write(path: string, text: string): string {
    const file = join(this.base, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  }

  link(path: string, target: string): void {
    const file = join(this.base, path);
    mkdirSync(dirname(file), { recursive: true });
    symlinkSync(target, file);
  }

  load(modules: readonly (string | NamedExport)[], options?: LoadTransformsOptions) {
    const mappings = modules.map((one, index) => mapping(index, typeof one === "string" ? { module: one } : one));
    return loadTransforms(mappings, { configDir: this.configDir, transformsDir: this.transformsDir }, options);
  }

  /** What the transform of one module makes of a payload. */
  async run(module: string | NamedExport, payload: unknown = {}): Promise<unknown> {
    const transform = (await this.load([module])).get("m0");
    return await call(transform, payload);
  }

  /** The lines of the refusal, `<path>: <message>`. */
  async refusal(modules: readonly (string | NamedExport)[], options?: LoadTransformsOptions): Promise<string[]> {
    try {
      await this.load(modules, options);
    } catch (error) {
      if (error instanceof ConfigError) return error.issues.map(({ path, message }) => `${path}: ${message}`);
      throw error;
    }
    throw new Error("the modules were loaded");
  }

  [Symbol.dispose](): void {
    rmSync(this.outer, { recursive: true, force: true });
  }
}

export interface NamedExport {
  readonly module: string;
  readonly export?: string;
}

export function call(transform: TransformFunction | undefined, payload: unknown = {}): unknown {
  const context: TransformContext = { payload, headers: {}, url: new URL("http://localhost/x"), path: "x" };
  return transform === undefined ? "no transform" : transform(context);
}

/** A mapping with the id `m<index>`, without a transform when `named` is absent. */
export function mapping(index: number, named?: NamedExport): MappingConfig {
  return {
    id: `m${index}`,
    where: `hooks.mappings[${index}]`,
    match: { path: "x", source: undefined },
    action: "agent",
    wakeMode: "now",
    name: undefined,
    agentId: undefined,
    sessionKey: undefined,
    messageTemplate: undefined,
    textTemplate: undefined,
    forEach: undefined,
    deliver: true,
    allowUnsafeExternalContent: false,
    channel: "last",
    to: undefined,
    model: undefined,
    thinking: undefined,
    timeoutSeconds: undefined,
    maxBodyBytes: undefined,
    accept: [],
    interrupted: undefined,
    transform: named && { module: named.module, export: named.export },
    preset: undefined,
    settings: {},
    auth: undefined,
    handshakes: [],
    methods: [],
    ignoreSenders: [],
    ignoreBots: true,
    ...RUN_DEFAULTS,
    contentSource: "Webhook",
    ownSessionPrefix: undefined,
  };
}
