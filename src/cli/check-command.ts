/** `reveille check`. */
import { nameBlock } from "../config/name-block.ts";
import { checkConfig } from "./check-config.ts";
import type { CliIo } from "./cli-io.ts";
import { untilSignal } from "./end-signals.ts";
import type { LocationOptions } from "./file-locations.ts";
import { printable } from "./printable.ts";

/**
 * Says whether the configuration would be taken into use, and what could be safer. Rejects when not;
 * resolves with the exit code, which is not 0 when a signal has interrupted it.
 */
export function check(options: LocationOptions, io: CliIo): Promise<number> {
  return untilSignal(io, async (signal) => {
    const { gateway } = io;
    const { warnings, audit } = await checkConfig(options, { gateway, logger: io.createLogger(), signal });
    const lines = [
      `${gateway.locate(options).configFile} is valid.`,
      ...warnings.map((warning) => `warning  ${warning}`),
      ...audit.map(({ severity, path, message, id }) => `${severity.padEnd(8)} ${path}: ${message} (${id})`),
    ];
    for (const line of lines) io.out(`${printable(nameBlock(line, gateway.block))}\n`);
    return 0;
  });
}
