/** The places of the configuration and the state. */
import { statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

export interface FileLocations {
  /** Absolute. */
  readonly configFile: string;
  /** Absolute. */
  readonly stateDir: string;
}

/** The sources besides the command line. */
export interface LocationEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeDir: string;
}

/** The options of the command line. */
export interface LocationOptions {
  readonly config?: string;
  readonly stateDir?: string;
}

/**
 * An option wins over the environment (`REVEILLE_CONFIG`, `REVEILLE_STATE_DIR`), which wins over
 * the defaults: `~/.reveille/reveille.json5`, and `state` beside the configuration.
 */
export function findLocations(options: LocationOptions, { env, homeDir }: LocationEnvironment): FileLocations {
  const configFile = resolve(options.config ?? (env.REVEILLE_CONFIG || join(homeDir, ".reveille", "reveille.json5")));
  const stateDir = resolve(options.stateDir ?? (env.REVEILLE_STATE_DIR || join(dirname(configFile), "state")));
  return { configFile, stateDir };
}

/** `--config <file>` behind a blank, for a command that a person is shown; nothing where the command had none. */
export function configWords({ config }: LocationOptions): string {
  return config === undefined ? "" : ` --config ${shellWord(config)}`;
}

const PLAIN_WORD = /^[\w./:@%+=-]+$/u;

function shellWord(text: string): string {
  return PLAIN_WORD.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** False only where nothing is: what this user may not look at is there, and what reads it says why it cannot. */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}
