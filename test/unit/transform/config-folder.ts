import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ConfigError, Findings } from "../../../src/config/errors.ts";
import type { MappingConfig } from "../../../src/config/mapping/schema.ts";
import type { TransformsConfig } from "../../../src/config/transforms.ts";
import { normalizeMapping } from "../../../src/config/mapping/normalize.ts";
import type { MappingInput } from "../../../src/config/hooks.ts";
import { loadTransforms } from "../../../src/transform/load.ts";
import type { TransformSet } from "../../../src/transform/set.ts";
import type { CallTransform } from "../../../src/transform/call.ts";
import { read } from "../config/hooks-context.ts";
import { recordingLogger } from "../hosts/embedded/server/recording-logger.ts";
import { requestWith } from "../mapping/mappings.ts";

/** What a test says besides the modules; transforms run in the test's own process unless it says otherwise. */
export interface FolderLoadOptions extends Partial<TransformsConfig> {
  readonly loadTimeoutMs?: number;
  readonly previous?: TransformSet;
}

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

  load(modules: readonly (string | NamedExport)[], options?: FolderLoadOptions): Promise<TransformSet> {
    const mappings = modules.map((one, index) => mapping(index, typeof one === "string" ? { module: one } : one));
    return this.loadMappings(mappings, options);
  }

  loadMappings(
    mappings: readonly MappingConfig[],
    { loadTimeoutMs, previous, ...limits }: FolderLoadOptions = {},
  ): Promise<TransformSet> {
    const { transforms: defaults } = read({}).config;
    const transforms: TransformsConfig = { ...defaults, isolation: "none", ...limits };
    return loadTransforms(
      { enabled: true, mappings, transformsDir: this.transformsDir, transforms },
      {
        configDir: this.configDir,
        workDir: join(this.outer, "work"),
        logger: recordingLogger(),
        loadTimeoutMs,
        previous,
      },
    );
  }

  /** What the transform of one module makes of a payload. */
  async run(module: string | NamedExport, payload: unknown = {}): Promise<unknown> {
    const transform = (await this.load([module])).get("m0");
    return await call(transform, payload);
  }

  /** The lines of the refusal, `<path>: <message>`. */
  async refusal(modules: readonly (string | NamedExport)[], options?: FolderLoadOptions): Promise<string[]> {
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

/** What a transform makes of a payload. */
export async function call(transform: CallTransform | undefined, payload: unknown = {}): Promise<unknown> {
  if (transform === undefined) return "no transform";
  const context = requestWith(payload, { path: "x" });
  return transform({ context, method: "POST", rawBody: Buffer.from("raw"), deliveryId: undefined });
}

/** A mapping with the id `m<index>`, without a transform when `named` is absent. */
export function mapping(index: number, named?: NamedExport): MappingConfig {
  const input: MappingInput = { id: `m${index}`, match: { path: "x" }, messageTemplate: "m", transform: named };
  return normalizeMapping(input, index, new Findings());
}
