import { join } from "node:path";
import { describeFailure } from "../../loader/describe-error.ts";
import { ModuleLoader } from "../../loader/module-loader.ts";
import { pickExport } from "../../loader/pick-export.ts";
import { nameInRoot } from "../../loader/containment.ts";
import { authoring } from "../../authoring.ts";
import type { TransformFunction } from "../../context.ts";
import type { SandboxLoadFailure, SandboxModule, SandboxRequest } from "../messages.ts";
import type { CurrentWork } from "./current-work.ts";

export interface LoadModulesOptions {
  readonly current: CurrentWork;
  /** The next module is being loaded. */
  readonly onLoading: (module: number) => void;
}

export interface LoadedModules {
  /** By the place in the list; `undefined` where it failed. */
  readonly transforms: readonly (TransformFunction | undefined)[];
  readonly failures: readonly SandboxLoadFailure[];
  readonly loader: ModuleLoader;
}

/** Loads the modules of a sandbox one after the other, each file once. Never rejects; may never resolve. */
export async function loadModules(
  { folder, modules }: Extract<SandboxRequest, { do: "load" }>,
  { current, onLoading }: LoadModulesOptions,
): Promise<LoadedModules> {
  const loader = new ModuleLoader(folder, { provided: new Map([["reveille", authoring]]) });
  const files = new Map<string, Promise<unknown>>();
  // Filled by index: a module can replace what `push` and `for ... of` call.
  const transforms = modules.map((): TransformFunction | undefined => undefined);
  const failures: SandboxLoadFailure[] = [];
  const loadOne = async ({ file, export: name }: SandboxModule): Promise<TransformFunction | string> => {
    const entry = join(folder.path, file);
    try {
      const loading = files.get(file) ?? interruptible(() => loader.load(file), current);
      files.set(file, loading);
      const picked = pickExport(await loading, name ?? undefined);
      return picked.ok ? picked.value : `${nameInRoot(entry, folder)} ${picked.reason}`;
    } catch (error) {
      return describeFailure(error, { entry, root: folder, positions: loader.positions });
    }
  };
  for (let module = 0; module < transforms.length; module++) {
    const wanted = modules[module];
    if (wanted === undefined) continue;
    onLoading(module);
    const loaded = await loadOne(wanted);
    if (typeof loaded === "string") failures.push({ module, message: loaded });
    else transforms[module] = loaded;
  }
  current.end();
  return { transforms, failures, loader };
}

/** Fails also with an error that the module throws in a timer while it is loaded. */
function interruptible(load: () => Promise<unknown>, current: CurrentWork): Promise<unknown> {
  return new Promise((resolve, reject) => {
    current.begin(reject, () => void load().then(resolve, reject));
  });
}
