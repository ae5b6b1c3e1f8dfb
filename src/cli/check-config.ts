/** Judges a configuration without starting a gateway. */
import { configLines } from "../config/config-error.ts";
import { auditHooks } from "../config/security-audit.ts";
import type { AuditFinding } from "../config/security-audit.ts";
import type { LocationOptions } from "./file-locations.ts";
import { loadConfiguration } from "./load-generation.ts";
import type { LoadedConfiguration, LoadOptions } from "./load-generation.ts";

/** What was found in a configuration that is valid. */
export interface ConfigReport {
  /** Lines for the gateway's owner. */
  readonly warnings: readonly string[];
  readonly audit: readonly AuditFinding[];
}

/** Rejects with a `ConfigError` when the configuration could not be taken into use. */
export async function checkConfig(options: LocationOptions, load: LoadOptions): Promise<ConfigReport> {
  return reviewConfig(await loadConfiguration(options, load));
}

/** What could be better in a configuration that is valid. */
export function reviewConfig({
  hooksWritten,
  warnings,
  snapshot,
  active: generation,
}: LoadedConfiguration): ConfigReport {
  return {
    warnings: [...configLines(warnings), ...generation.warnings],
    audit: auditHooks(generation.config, snapshot.gateway, hooksWritten),
  };
}
