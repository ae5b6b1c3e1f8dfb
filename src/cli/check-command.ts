/** `reveille check`. */
import { checkConfig } from "./check-config.ts";
import type { CliIo } from "./cli-io.ts";
import { findLocations } from "./file-locations.ts";
import type { LocationOptions } from "./file-locations.ts";

/** Says whether the configuration would be taken into use, and what could be safer. Rejects when not. */
export async function check(options: LocationOptions, io: CliIo): Promise<void> {
  const { configFile, stateDir } = findLocations(options, io);
  const { warnings, audit } = await checkConfig({ file: configFile, stateDir, env: io.env, logger: io.createLogger() });
  io.out(`${configFile} is valid.\n`);
  for (const warning of warnings) io.out(`warning  ${warning}\n`);
  for (const { severity, path, message, id } of audit) io.out(`${severity.padEnd(8)} ${path}: ${message} (${id})\n`);
}
