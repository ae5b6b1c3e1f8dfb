import { relative } from "node:path";
import { ConfigError } from "../config/errors.ts";
import type { TransformsConfig } from "../config/transforms.ts";
import type { Logger } from "../core/host.ts";
import type { CallTransform } from "./call.ts";
import { FolderError, SandboxLoadError, SandboxStartError } from "./errors.ts";
import { fingerprintFolder, FolderSnapshot } from "./folder/snapshot.ts";
import type { TransformsRoot } from "./loader/containment.ts";
import type { SandboxModule } from "./sandbox/messages.ts";
import { ModulePools, type ModulePoolsOptions } from "./sandbox/module-pools.ts";
import { type LoadedTransforms, type NamedTransform, type TransformFailure, TransformSet } from "./set.ts";

/** Transforms that could not be made ready for a reason that may pass: a full disk, no free process. */
export class TransformsUnavailableError extends ConfigError {}

export interface InSandboxOptions {
  readonly root: TransformsRoot;
  readonly limits: TransformsConfig;
  readonly workDir: string;
  readonly logger: Logger;
  readonly previous: TransformSet | undefined;
  readonly loadTimeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** True: nothing is loaded when one of them does not load. */
  readonly mustAllWork: boolean;
}

/** The failures of a set that was loaded without some of its modules. */
const failuresOfSet = new WeakMap<TransformSet, readonly TransformFailure[]>();
/** The unchanged files that the next copy of the same folder shares. */
const snapshots = new WeakMap<TransformSet, FolderSnapshot>();

/** The modules that mappings ask for, each once. */
interface Modules {
  readonly list: readonly SandboxModule[];
  /** Of each transform asked for, the place of its module in the list. */
  readonly places: readonly number[];
}

/**
 * Loads transforms into processes of their own, which see a copy of the folder as it is now: a process
 * that has to be replaced later loads the same code, whatever the folder holds by then.
 *
 * Gives the previous set back when modules, limits and folder are the same.
 */
export async function loadInSandbox(
  named: readonly NamedTransform[],
  { root, limits, workDir, logger, previous, loadTimeoutMs, signal, mustAllWork }: InSandboxOptions,
): Promise<LoadedTransforms> {
  const modules = modulesOf(named, root);
  const keyFor = (fingerprint: string): string => JSON.stringify([root, named, limits, fingerprint]);
  if (previous?.key !== undefined && previous.key === keyFor(await fingerprintFolder(root).catch(refuse))) {
    const failures = failuresOfSet.get(previous) ?? [];
    if (!mustAllWork || failures.length === 0) return { set: previous, failures };
  }
  const earlier = previous && snapshots.get(previous);
  const snapshot = await FolderSnapshot.take(root, { workDir, previous: earlier }).catch(refuse);
  try {
    const options = { folder: { path: snapshot.path, name: root.name }, limits, logger, loadTimeoutMs, signal };
    const { pools, places, failures } = await startWorking(modules.list, options, { mustAllWork });
    if (mustAllWork && failures.length > 0) {
      await snapshot.remove();
      return { set: undefined, failures: failuresOf(failures, modules) };
    }
    const release = async (): Promise<void> => {
      await pools?.close();
      await snapshot.remove();
    };
    const calls = callsOf(named, modules, { pools, places });
    const key = keyFor(snapshot.fingerprint);
    const isStale = (): Promise<boolean> =>
      fingerprintFolder(root).then(
        (fingerprint) => fingerprint !== snapshot.fingerprint,
        () => true,
      );
    const set = new TransformSet({
      calls,
      key,
      release,
      isStale,
      figures: () => pools?.figures() ?? { rssBytes: undefined },
      shrink: () => pools?.shrink(),
    });
    snapshots.set(set, snapshot);
    const ofNamed = failuresOf(failures, modules);
    failuresOfSet.set(set, ofNamed);
    return { set, failures: ofNamed };
  } catch (error) {
    await snapshot.remove();
    return refuse(error);
  }
}

interface WorkingPools {
  /** `undefined` when no module works, or when all had to. */
  readonly pools: ModulePools | undefined;
  /** Of each module of the list, its place in the pools; `undefined` for one that does not work. */
  readonly places: readonly (number | undefined)[];
  readonly failures: SandboxLoadError["failures"];
}

/** Starts processes for the modules that load: those that fail are left out, and the rest is tried again. */
async function startWorking(
  list: readonly SandboxModule[],
  options: Omit<ModulePoolsOptions, "modules">,
  { mustAllWork }: { readonly mustAllWork: boolean },
): Promise<WorkingPools> {
  const failures: { module: number; message: string }[] = [];
  let left = list.map((module, at) => ({ module, at }));
  while (left.length > 0) {
    const tried = left;
    try {
      const pools = await ModulePools.start({ ...options, modules: tried.map(({ module }) => module) });
      const placeOf = new Map(tried.map(({ at }, place) => [at, place]));
      return { pools, places: list.map((_, at) => placeOf.get(at)), failures };
    } catch (error) {
      if (!(error instanceof SandboxLoadError)) throw error;
      const found = error.failures.map(({ module, message }) => ({ module: tried[module]?.at ?? 0, message }));
      failures.push(...found);
      const failed = new Set(found.map(({ module }) => module));
      left = mustAllWork || failed.size === 0 ? [] : tried.filter(({ at }) => !failed.has(at));
    }
  }
  return { pools: undefined, places: [], failures };
}

function modulesOf(named: readonly NamedTransform[], root: TransformsRoot): Modules {
  const list: SandboxModule[] = [];
  const known = new Map<string, number>();
  const places = named.map(({ file, export: name = null }) => {
    const key = JSON.stringify([file, name]);
    const place = known.get(key) ?? list.push({ file: relative(root.path, file), export: name }) - 1;
    known.set(key, place);
    return place;
  });
  return { list, places };
}

function callsOf(
  named: readonly NamedTransform[],
  modules: Modules,
  { pools, places }: Pick<WorkingPools, "pools" | "places">,
): ReadonlyMap<string, CallTransform> {
  const calls = new Map<string, CallTransform>();
  for (const [at, { mappingId }] of named.entries()) {
    const place = places[modules.places[at] ?? -1];
    if (pools !== undefined && place !== undefined) calls.set(mappingId, (call) => pools.call(place, call));
  }
  return calls;
}

function failuresOf(failures: SandboxLoadError["failures"], { places }: Modules): TransformFailure[] {
  const messages = new Map(failures.map(({ module, message }) => [module, message]));
  return places.flatMap((place, at) => {
    const message = messages.get(place);
    return message === undefined ? [] : [{ at, message }];
  });
}

function refuse(error: unknown): never {
  if (error instanceof FolderError) {
    const issues = [{ path: "hooks.transformsDir", message: error.message }];
    throw error.isPassing ? new TransformsUnavailableError(issues) : new ConfigError(issues);
  }
  if (error instanceof SandboxStartError) {
    throw new TransformsUnavailableError([{ path: "hooks.transforms", message: error.message }]);
  }
  throw error;
}
