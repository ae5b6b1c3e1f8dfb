/** `reveille check`. */
import { ConfigError, type ConfigIssue, configLines } from "../config/errors.ts";
import { qualifyKeys } from "../config/qualify-keys.ts";
import { type AuditFinding, auditHooks } from "../config/audit.ts";
import type { ExposureRow } from "../config/rule-of-two.ts";
import { exposureLines } from "./exposure-table.ts";
import { type CliIo, warningsOnly } from "./io.ts";
import { untilSignal } from "./end-signals.ts";
import type { LocationOptions } from "./file-locations.ts";
import { loadConfiguration, type LoadedConfiguration, type LoadOptions } from "./load-configuration.ts";
import { printable } from "./terminal-text.ts";

export interface CheckOptions extends LocationOptions {
  readonly strict?: boolean;
  readonly json?: boolean;
}

/**
 * Says whether the configuration is valid, and what could be safer. Rejects when not;
 * resolves with the exit code, which is not 0 when a signal has interrupted it.
 */
export function check(options: CheckOptions, io: CliIo): Promise<number> {
  return untilSignal(io, async (signal) => {
    const { gateway } = io;
    const file = gateway.locate(options).configFile;
    const load = { gateway, logger: warningsOnly(await io.createLogger()), signal, strict: options.strict };
    if (options.json === true) return printDocument(await checkedDocument(file, options, load), io);
    const { warnings, audit, exposures } = await checkConfig(options, load);
    const lines = [
      `${file} is valid.`,
      ...warnings.map((warning) => `warning  ${warning}`),
      ...exposureLines(exposures),
      ...audit.map(({ severity, path, message, id }) => `${severity.padEnd(8)} ${path}: ${message} (${id})`),
    ];
    for (const line of lines) io.out(`${printable(qualifyKeys(line, gateway.block))}\n`);
    return 0;
  });
}

interface CheckedDocument {
  readonly ok: boolean;
  readonly file: string;
  /** The problems of an invalid configuration. */
  readonly issues: readonly ConfigIssue[];
  readonly warnings: readonly string[];
  readonly audit: readonly AuditFinding[];
  /** What runs can reach, by mapping and level. */
  readonly exposures: readonly ExposureRow[];
}

async function checkedDocument(file: string, options: LocationOptions, load: LoadOptions): Promise<CheckedDocument> {
  try {
    return { ok: true, file, issues: [], ...(await checkConfig(options, load)) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { ok: false, file, issues: error.issues, warnings: [], audit: [], exposures: [] };
  }
}

function printDocument(document: CheckedDocument, io: CliIo): number {
  io.out(`${JSON.stringify(document, undefined, 2)}\n`);
  return document.ok ? 0 : 1;
}

/** The report on a valid configuration. */
interface ConfigReport {
  /** Lines for the gateway's owner. */
  readonly warnings: readonly string[];
  readonly audit: readonly AuditFinding[];
  readonly exposures: readonly ExposureRow[];
}

/** Rejects with a `ConfigError` when the configuration is not valid. */
async function checkConfig(options: LocationOptions, load: LoadOptions): Promise<ConfigReport> {
  return reviewConfig(await loadConfiguration(options, load));
}

/** Possible improvements of a valid configuration. */
export function reviewConfig({ hooksWritten, warnings, snapshot, active }: LoadedConfiguration): ConfigReport {
  return {
    warnings: [...configLines(warnings), ...active.warnings],
    audit: auditHooks(active.config, snapshot.gateway, hooksWritten),
    exposures: active.config.exposures,
  };
}
