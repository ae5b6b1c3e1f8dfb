import { setImmediate } from "node:timers/promises";
import type { LoadedTransforms, NamedTransform } from "./loaded-transforms.ts";
import { describeFailure } from "./loader/describe-error.ts";
import { describeThrown } from "./loader/describe-thrown.ts";
import type { DescribeThrownOptions } from "./loader/describe-thrown.ts";
import { withLoadTimeout } from "./loader/load-timeout.ts";
import { pickExport } from "./loader/pick-export.ts";
import { nameInRoot } from "./loader/transforms-root.ts";
import type { TransformsRoot } from "./loader/transforms-root.ts";
import { TransformError } from "./call.ts";
import type { CallTransform } from "./call.ts";
import { contextFields, transformContext } from "./context.ts";
import { TransformSet } from "./set.ts";
import type { TransformFunction } from "./transform.ts";

export interface InProcessOptions {
  readonly root: TransformsRoot;
  readonly loadTimeoutMs: number;
}

/**
 * Loads transforms into this process, with all its rights and without any limit: for owners who ask for
 * it. Files are read anew by each call, and each once per call, whatever number of mappings name it.
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
  const failures: { at: number; message: string }[] = [];
  for (const [at, { mappingId, file, export: name }] of named.entries()) {
    // The requests of the generation in force have their turn between two modules.
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
  if (failures.length > 0) return { ok: false, failures };
  return { ok: true, set: new TransformSet({ calls, key: undefined, release: () => Promise.resolve() }) };
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
