import { join, relative, sep } from "node:path";
import { setImmediate, setTimeout } from "node:timers/promises";
import { ConfigError } from "../config/config-error.ts";
import type { ConfigIssue } from "../config/config-error.ts";
import type { MappingConfig } from "../config/hooks-config.ts";
import { containedPath } from "./containment.ts";
import { describeFailure } from "./describe-failure.ts";
import type { ModuleLoader } from "./module-loader.ts";
import { ModuleRefusedError } from "./module-refused-error.ts";
import { pickExport } from "./pick-export.ts";
import type { PickedExport } from "./pick-export.ts";
import type { TransformFunction } from "./transform.ts";
import { nameInRoot } from "./transforms-root.ts";
import type { TransformsRoot } from "./transforms-root.ts";

/** Absolute paths; neither folder needs to exist as long as no mapping names a module. */
export interface TransformDirs {
  readonly configDir: string;
  /** Has to be inside `<configDir>/hooks/transforms`. */
  readonly transformsDir: string;
}

export interface LoadTransformsOptions {
  /** How long one module may take, its top-level awaits included. Default: 30 seconds. */
  readonly timeoutMs?: number;
}

type TransformConfig = NonNullable<MappingConfig["transform"]>;

const DEFAULT_TIMEOUT_MS = 30_000;

/**
 * Loads the transforms of a configuration's mappings, keyed by the mapping's id; mappings without
 * one are left out.
 *
 * Files are read anew by each call, and each once per call, whatever number of mappings name it.
 * Modules run in this process with all its rights, see ModuleLoader; a sandbox is not part of it.
 *
 * Throws ConfigError with every issue of every mapping: a module outside of the folder by its path
 * or by a link, one that is missing, does not parse, throws while it is loaded, takes too long or
 * does not export the function. Sources: specification 2.1 and 4.3, reference/openclaw.md 3.
 */
export async function loadTransforms(
  mappings: readonly MappingConfig[],
  dirs: TransformDirs,
  { timeoutMs = DEFAULT_TIMEOUT_MS }: LoadTransformsOptions = {},
): Promise<ReadonlyMap<string, TransformFunction>> {
  const folder = new TransformsFolder(dirs, { timeoutMs });
  const transforms = new Map<string, TransformFunction>();
  const issues: ConfigIssue[] = [];
  for (const { id, where, transform } of mappings) {
    if (transform === undefined) continue;
    // The requests of the generation in force have their turn between two modules.
    await setImmediate();
    const found = await folder.find(transform);
    if (found.ok) transforms.set(id, found.value);
    else issues.push({ path: `${where}.transform.module`, message: found.reason });
  }
  if (issues.length > 0) throw new ConfigError(issues);
  return transforms;
}

/** The folder as one configuration sees it: each module is tried once. */
class TransformsFolder {
  readonly #dir: string;
  readonly #root: TransformsRoot;
  readonly #timeoutMs: number;
  readonly #modules = new Map<string, Promise<unknown>>();
  #loader: ModuleLoader | undefined;

  constructor({ configDir, transformsDir }: TransformDirs, { timeoutMs }: { timeoutMs: number }) {
    const found = containedPath(join(configDir, "hooks", "transforms"), transformsDir);
    if (!found.ok) {
      const message = `${transformsDir} ${found.reason}; it has to be hooks/transforms in the config folder or a folder in that`;
      throw new ConfigError([{ path: "hooks.transformsDir", message }]);
    }
    this.#dir = transformsDir;
    this.#root = { path: found.path, name: relative(configDir, transformsDir).split(sep).join("/") };
    this.#timeoutMs = timeoutMs;
  }

  async find({ module, export: name }: TransformConfig): Promise<PickedExport> {
    const contained = containedPath(this.#dir, module);
    if (!contained.ok) {
      const reason = `${JSON.stringify(module)} ${contained.reason}; a transform is a file inside of ${this.#root.name}`;
      return { ok: false, reason };
    }
    const entry = contained.path;
    const loading = this.#modules.get(entry) ?? this.#load(entry);
    this.#modules.set(entry, loading);
    try {
      const picked = pickExport(await loading, name);
      return picked.ok ? picked : { ok: false, reason: `${nameInRoot(entry, this.#root)} ${picked.reason}` };
    } catch (error) {
      return { ok: false, reason: describeFailure(error, { entry, root: this.#root }) };
    }
  }

  async #load(entry: string): Promise<unknown> {
    // Costs 20 ms, which a configuration without transforms does not pay.
    const { ModuleLoader } = await import("./module-loader.ts");
    this.#loader ??= new ModuleLoader(this.#root);
    const patience = new AbortController();
    try {
      return await Promise.race([this.#loader.load(entry), this.#expire(patience.signal)]);
    } finally {
      patience.abort();
    }
  }

  async #expire(signal: AbortSignal): Promise<never> {
    await setTimeout(this.#timeoutMs, undefined, { signal });
    throw new ModuleRefusedError(`has not finished loading after ${this.#timeoutMs} ms; look at its top-level awaits`);
  }
}
