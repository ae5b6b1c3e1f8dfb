import { statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { setImmediate } from "node:timers/promises";
import { ConfigError, type ConfigIssue } from "../config/errors.ts";
import type { HooksConfig } from "../config/hooks.ts";
import type { MappingConfig } from "../config/mapping/schema.ts";
import type { Logger } from "../core/host.ts";
import { type CallTransform, TransformError } from "./call.ts";
import { contextFields, transformContext, type TransformFunction } from "./context.ts";
import { loadInSandbox, TransformsUnavailableError } from "./load-in-sandbox.ts";
import { containedPath, nameInRoot, type TransformsRoot } from "./loader/containment.ts";
import { describeFailure, describeThrown, type DescribeThrownOptions } from "./loader/describe-error.ts";
import { withLoadTimeout } from "./loader/load-timeout.ts";
import { pickExport } from "./loader/pick-export.ts";
import {
  type LoadedTransforms,
  type NamedTransform,
  noTransforms,
  type TransformFailure,
  TransformSet,
} from "./set.ts";

export interface LoadTransformsOptions {
  /** Absolute; `transformsDir` has to be inside `<configDir>/hooks/transforms`. */
  readonly configDir: string;
  /** Absolute; copies of the folder are made there. Need not exist. */
  readonly workDir: string;
  readonly logger: Logger;
  /** The active set; it is given back when nothing that it was made from has changed. */
  readonly previous?: TransformSet | undefined;
  /** Time that one module may take to load, its top-level awaits included. Default: 30 seconds. */
  readonly loadTimeoutMs?: number;
  /** Aborted when the result is no longer needed; the processes that are being started end then. */
  readonly signal?: AbortSignal | undefined;
}

export type TransformsOfConfig = Pick<HooksConfig, "enabled" | "mappings" | "transformsDir" | "transforms">;

const DEFAULT_LOAD_TIMEOUT_MS = 30_000;

/** The transforms that work, and the issues of those that do not, by the mapping's id. */
export interface WorkingTransforms {
  readonly set: TransformSet;
  readonly issues: ReadonlyMap<string, ConfigIssue>;
}

/**
 * Makes the transforms of a configuration's mappings ready, in processes of their own or, when it says
 * so, in this one. Mappings without a transform, and hooks that are off, need nothing.
 *
 * Throws ConfigError with every issue of every mapping: a module outside of the folder by its path or by
 * a link, one that is missing, does not parse, throws while it is loaded, takes too long or does not
 * export the function. Source: specification 2.1 and 4.3.
 */
export async function loadTransforms(
  config: TransformsOfConfig,
  options: LoadTransformsOptions,
): Promise<TransformSet> {
  const { set, issues } = await load(config, options, { mustAllWork: true });
  if (set !== undefined) return set;
  throw new ConfigError([...issues.values()]);
}

/** Loads the transforms that work, as {@link loadTransforms} does. Throws for what concerns all of them. */
export async function loadWorkingTransforms(
  config: TransformsOfConfig,
  options: LoadTransformsOptions,
): Promise<WorkingTransforms> {
  const { set, issues } = await load(config, options, { mustAllWork: false });
  return { set: set ?? noTransforms(), issues };
}

async function load(
  { enabled, mappings, transformsDir, transforms: limits }: TransformsOfConfig,
  { configDir, workDir, logger, previous, signal, loadTimeoutMs = DEFAULT_LOAD_TIMEOUT_MS }: LoadTransformsOptions,
  { mustAllWork }: { readonly mustAllWork: boolean },
): Promise<{ readonly set: TransformSet | undefined; readonly issues: ReadonlyMap<string, ConfigIssue> }> {
  const root = rootOf(transformsDir, configDir);
  const wanted = enabled ? mappings.filter(({ transform }) => transform !== undefined) : [];
  if (wanted.length === 0) return { set: noTransforms(), issues: new Map() };
  const located = wanted.map((mapping) => locate(mapping, root));
  const named = located.filter((one) => typeof one === "object");
  /** A folder that cannot be copied breaks each of its modules; a reason that may pass is thrown. */
  const breakAll = (error: unknown): LoadedTransforms => {
    if (mustAllWork || !(error instanceof ConfigError) || error instanceof TransformsUnavailableError) throw error;
    return { set: undefined, failures: named.map((_, at) => ({ at, message: error.message })) };
  };
  const loadNamed = (): Promise<LoadedTransforms> =>
    limits.isolation === "none"
      ? loadInProcess(named, { root, loadTimeoutMs })
      : loadInSandbox(named, { root, limits, workDir, logger, previous, loadTimeoutMs, signal, mustAllWork });
  const { set, failures } = named.length > 0 ? await loadNamed().catch(breakAll) : { set: undefined, failures: [] };
  const failed = new Map(failures.map(({ at, message }) => [named[at], message]));
  const issues = new Map(
    located.flatMap((one, at): [string, ConfigIssue][] => {
      const { id = "", where } = wanted[at] ?? {};
      const message = typeof one === "string" ? one : failed.get(one);
      return message === undefined ? [] : [[id, { path: `${where}.transform.module`, message }]];
    }),
  );
  if (!mustAllWork || issues.size === 0) return { set, issues };
  if (set !== undefined && set !== previous) await set.close();
  return { set: undefined, issues };
}

function rootOf(transformsDir: string, configDir: string): TransformsRoot {
  const found = containedPath(join(configDir, "hooks", "transforms"), transformsDir);
  if (!found.ok) {
    const message = `${transformsDir} ${found.reason}; it has to be hooks/transforms in the config folder or a folder in that`;
    throw new ConfigError([{ path: "hooks.transformsDir", message }]);
  }
  return { path: found.path, name: relative(configDir, transformsDir).split(sep).join("/") };
}

/** The file that a mapping means, or why there is none. */
function locate({ id, transform }: MappingConfig, root: TransformsRoot): NamedTransform | string {
  const { module = "", export: name } = transform ?? {};
  const found = containedPath(root.path, module);
  if (!found.ok) return `${JSON.stringify(module)} ${found.reason}; a transform is a file inside of ${root.name}`;
  if (!statSync(found.path, { throwIfNoEntry: false })?.isFile())
    return `${nameInRoot(found.path, root)}: there is no such file`;
  return { mappingId: id, file: found.path, export: name };
}

interface InProcessOptions {
  readonly root: TransformsRoot;
  readonly loadTimeoutMs: number;
}

/**
 * Loads transforms into this process, with all its rights and without any limit: for owners who ask for
 * it. Files are read again by each call, and each once per call, whatever number of mappings name it.
 */
export async function loadInProcess(
  named: readonly NamedTransform[],
  { root, loadTimeoutMs }: InProcessOptions,
): Promise<LoadedTransforms> {
  // Costs 20 ms, which a configuration without transforms does not pay.
  const { ModuleLoader } = await import("./loader/module-loader.ts");
  const { authoring } = await import("./authoring.ts");
  const loader = new ModuleLoader(root, { provided: new Map([["reveille", authoring]]) });
  const { positions } = loader;
  const modules = new Map<string, Promise<unknown>>();
  const calls = new Map<string, CallTransform>();
  const failures: TransformFailure[] = [];
  for (const [at, { mappingId, file, export: name }] of named.entries()) {
    // The requests of the active configuration have their turn between two modules.
    await setImmediate();
    try {
      const loading = modules.get(file) ?? withLoadTimeout(loader.load(file), loadTimeoutMs);
      modules.set(file, loading);
      const picked = pickExport(await loading, name);
      if (picked.ok) calls.set(mappingId, callInProcess(picked.value, { root, positions }));
      else failures.push({ at, message: `${nameInRoot(file, root)} ${picked.reason}` });
    } catch (error) {
      failures.push({ at, message: describeFailure(error, { entry: file, root, positions }) });
    }
  }
  return { set: new TransformSet({ calls, key: undefined, release: () => Promise.resolve() }), failures };
}

function callInProcess(transform: TransformFunction, options: DescribeThrownOptions): CallTransform {
  return async (call) => {
    try {
      return await transform(transformContext(contextFields(call), call.rawBody));
    } catch (error) {
      throw new TransformError("failed", describeThrown(error, options), { cause: error });
    }
  };
}
