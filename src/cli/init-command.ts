/** `reveille init`. */
import type { CliIo } from "./cli-io.ts";
import type { LocationOptions } from "./file-locations.ts";
import { curlLine, writeFirstConfig } from "./first-config.ts";

export interface InitOptions extends LocationOptions {
  readonly force?: boolean;
}

/** Where the written configuration listens. */
const defaultUrl = "http://127.0.0.1:18789";

/** Writes a configuration with fresh tokens and shows a call that it will answer. */
export function init({ force = false, ...options }: InitOptions, io: CliIo): void {
  const { configFile } = io.gateway.locate(options);
  const tokens = writeFirstConfig(configFile, { force });
  io.out(`A configuration with fresh tokens was written to ${configFile}\n`);
  io.out(`Once the gateway runs, it answers:\n\n${curlLine(defaultUrl, tokens)}\n`);
}
