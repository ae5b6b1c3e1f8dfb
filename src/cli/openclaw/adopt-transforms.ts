import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { configLines } from "../../config/config-error.ts";
import { findConfigError } from "../../config/find-config-error.ts";
import type { HooksConfig } from "../../config/hooks-config.ts";
import { loadTransforms } from "../../transform/load.ts";
import type { Logger } from "../../core/host.ts";

/**
 * Loads the transforms of a block as a gateway would at its start, and lets go of them again. Resolves
 * with the reasons why some cannot be loaded: the gateway would refuse the whole block for them.
 */
export async function tryTransforms(
  config: HooksConfig,
  { configDir, logger }: { readonly configDir: string; readonly logger: Logger },
): Promise<readonly string[]> {
  if (config.mappings.every(({ transform }) => transform === undefined)) return [];
  const workDir = mkdtempSync(join(tmpdir(), "reveille-adopt-"));
  try {
    const transforms = await loadTransforms(config, { configDir, workDir, logger, previous: undefined });
    await transforms.close();
    return [];
  } catch (error) {
    const found = findConfigError(error);
    if (found === undefined) throw error;
    return configLines(found.issues);
  } finally {
    rmSync(workDir, { recursive: true, force: true });
  }
}
