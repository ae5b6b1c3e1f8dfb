/** Judges a configuration without starting a gateway. */
import { configLines } from "../config/config-error.ts";
import { auditHooks } from "../config/security-audit.ts";
import type { AuditFinding } from "../config/security-audit.ts";
import type { LocationOptions } from "./file-locations.ts";
import { loadGeneration } from "./load-generation.ts";
import type { LoadedGeneration, LoadOptions } from "./load-generation.ts";

/** What was found in a configuration that is valid. */
export interface ConfigReport {
  /** Lines for the gateway's owner. */
  readonly warnings: readonly string[];
  readonly audit: readonly AuditFinding[];
}

/** Rejects with a `ConfigError` when the configuration could not be taken into use. */
export async function checkConfig(options: LocationOptions, load: LoadOptions): Promise<ConfigReport> {
  return judge(await loadGeneration(options, load));
}

/** What could be better in a configuration that is valid. */
export function judge({ hooksWritten, warnings, snapshot, generation }: LoadedGeneration): ConfigReport {
  return {
    warnings: [...configLines(warnings), ...generation.warnings],
    audit: auditHooks(generation.config, snapshot.gateway, hooksWritten),
  };
}
