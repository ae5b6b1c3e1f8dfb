import { relative } from "node:path";
import { ConfigError } from "../config/errors.ts";
import type { TransformsConfig } from "../config/transforms.ts";
import type { Logger } from "../core/host.ts";
import type { CallTransform } from "./call.ts";
import { FolderError, SandboxLoadError, SandboxStartError } from "./errors.ts";
import { fingerprintFolder, FolderSnapshot } from "./folder/snapshot.ts";
import type { TransformsRoot } from "./loader/containment.ts";
import type { SandboxModule } from "./sandbox/messages.ts";
import { ModulePools } from "./sandbox/module-pools.ts";
import { type LoadedTransforms, type NamedTransform, TransformSet } from "./set.ts";

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
}

/** What the next copy of the same folder shares its unchanged files with. */
const snapshots = new WeakMap<TransformSet, FolderSnapshot>();

/** The modules that mappings ask for, each once. */
interface Modules {
  readonly list: readonly SandboxModule[];
  /** Of each transform asked for, the place of its module in the list. */
  readonly places: readonly number[];
}

/**
 * Loads transforms into processes of their own, which see a copy of the folder as it is now: a process
 * that has to be replaced later loads the same code, whatever has become of the folder.
 *
 * Gives the previous set back when modules, limits and folder are the same.
 */
export async function loadInSandbox(
  named: readonly NamedTransform[],
  { root, limits, workDir, logger, previous, loadTimeoutMs, signal }: InSandboxOptions,
): Promise<LoadedTransforms> {
  const modules = modulesOf(named, root);
  const keyFor = (fingerprint: string): string => JSON.stringify([root, named, limits, fingerprint]);
  if (previous?.key !== undefined && previous.key === keyFor(await fingerprintFolder(root).catch(refuse))) {
    return { ok: true, set: previous };
  }
  const earlier = previous && snapshots.get(previous);
  const snapshot = await FolderSnapshot.take(root, { workDir, previous: earlier }).catch(refuse);
  try {
    const pools = await ModulePools.start({
      folder: { path: snapshot.path, name: root.name },
      modules: modules.list,
      limits,
      logger,
      loadTimeoutMs,
      signal,
    });
    const release = async (): Promise<void> => {
      await pools.close();
      await snapshot.remove();
    };
    const calls = callsOf(named, modules, pools);
    const key = keyFor(snapshot.fingerprint);
    const isStale = (): Promise<boolean> =>
      fingerprintFolder(root).then(
        (fingerprint) => fingerprint !== snapshot.fingerprint,
        () => true,
      );
    const set = new TransformSet({ calls, key, release, figures: () => pools.figures(), isStale });
    snapshots.set(set, snapshot);
    return { ok: true, set };
  } catch (error) {
    await snapshot.remove();
    if (error instanceof SandboxLoadError) return { ok: false, failures: failuresOf(error, modules) };
    return refuse(error);
  }
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
  { places }: Modules,
  pools: ModulePools,
): ReadonlyMap<string, CallTransform> {
  const calls = new Map<string, CallTransform>();
  for (const [at, { mappingId }] of named.entries()) {
    const module = places[at];
    if (module !== undefined) calls.set(mappingId, (call) => pools.call(module, call));
  }
  return calls;
}

function failuresOf({ failures }: SandboxLoadError, { places }: Modules): { at: number; message: string }[] {
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
