/** OpenClaw's configuration file: where it is, what it says, and how it is replaced. */
import { chmodSync, constants, copyFileSync, existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { CliError } from "../errors.ts";
import { replaceFile } from "../replace-file.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const NAMES = ["openclaw.json", "clawdbot.json"] as const;
const FOLDERS = [".openclaw", ".clawdbot"] as const;
const BACKUP = "before-reveille";
const MAX_BACKUPS = 1_000;

/**
 * The file as the host finds it: `OPENCLAW_CONFIG_PATH`, else the first that is there in
 * `OPENCLAW_STATE_DIR` and in the folders below the home (`OPENCLAW_HOME`, `HOME`). Absolute; need not exist.
 */
export function findConfigFile(env: Environment): string {
  const home = resolve(env["OPENCLAW_HOME"]?.trim() || env["HOME"]?.trim() || homedir());
  const named = env["OPENCLAW_CONFIG_PATH"]?.trim();
  if (named) return fromHome(named, home);
  const stateDir = env["OPENCLAW_STATE_DIR"]?.trim();
  const folders = [...(stateDir ? [fromHome(stateDir, home)] : []), ...FOLDERS.map((name) => join(home, name))];
  const candidates = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return candidates.find((file) => existsSync(file)) ?? candidates[0]!;
}

/** The text of the file. Throws a {@link CliError} when it cannot be read. */
export function readConfigText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw new CliError(`${file} cannot be read (${code}); name OpenClaw's configuration with --config <file>.`, {
      cause: error,
    });
  }
}

/**
 * Copies the file beside itself, then puts the new text in its place. Returns the copy's path. Throws a
 * {@link CliError}, and writes nothing, when the file does not hold `before` any more.
 */
export function replaceConfigFile(file: string, { before, after }: { before: string; after: string }): string {
  let backup = "";
  replaceFile(file, { before, after, keepCopy: (target) => (backup = copyBeside(file, target)) });
  return backup;
}

/** An earlier copy is never replaced: the new one gets a number. */
function copyBeside(file: string, target: string): string {
  for (let count = 1; count <= MAX_BACKUPS; count++) {
    const backup = `${file}.${BACKUP}${count === 1 ? "" : `-${count}`}`;
    try {
      copyFileSync(target, backup, constants.COPYFILE_EXCL);
      chmodSync(backup, 0o600);
      return backup;
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
  }
  throw new CliError(`There are ${MAX_BACKUPS} copies ${file}.${BACKUP} already; remove some.`);
}

function fromHome(path: string, home: string): string {
  return resolve(path.replace(/^~(?=$|[\\/])/, home));
}
