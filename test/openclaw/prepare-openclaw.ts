import { spawnSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { NEWEST_HOST } from "../../src/hosts/openclaw/require-calls.ts";
import { cachedHost } from "./cached-host.ts";
import { homeEnvironment } from "./openclaw-installation.ts";
import { DRIVER_ENTRIES } from "./driver-package.ts";
import { removeLeftovers } from "./remove-leftovers.ts";

const root = resolve(import.meta.dirname, "../..");
/** Folders of ours in the system's temporary one begin so. */
const PREPARED = "reveille-prepared-openclaw-";
/** What an interrupted run has left may be removed after this. */
const STALE_MS = 86_400_000;
/** A command that takes longer hangs. */
const COMMAND_MS = 600_000;

export interface PreparedOpenClaw {
  /** The folder of the package `openclaw`. */
  readonly openClaw: string;
  /** A fresh home in which this checkout was installed with the host's own command. */
  readonly home: string;
  /** The host's version. */
  readonly version: string;
  /** By which `openClawInstallation` finds both, in a process that is given it. */
  readonly environment: Readonly<Record<"REVEILLE_OPENCLAW" | "REVEILLE_OPENCLAW_HOME", string>>;
  /** Removes the home; the host is kept for the next time. */
  remove(): void;
}

interface PrepareOptions {
  /** Of the host; the newest when absent. It is installed below the system's temporary folder, once. */
  readonly version?: string;
  /** A folder of the package `openclaw`, used as it is in the place of an installed version. */
  readonly folder?: string;
}

/**
 * The real host with this checkout installed: installs the host, builds and packs a copy of the checkout,
 * and installs the package into a home in a temporary folder. Throws when one of these commands fails.
 */
export function prepareOpenClaw({ version = NEWEST_HOST, folder }: PrepareOptions = {}): PreparedOpenClaw {
  for (const prefix of [PREPARED, "reveille-openclaw-page-"]) removeLeftovers(tmpdir(), prefix, STALE_MS);
  const openClaw = folder === undefined ? cachedHost(version, installHost) : resolve(folder);
  const work = mkdtempSync(join(tmpdir(), PREPARED));
  const remove = (): void => rmSync(work, { recursive: true, force: true, maxRetries: 5 });
  const home = join(work, "home");
  try {
    installPlugin({ openClaw, home, archive: packPackage(join(work, "package")) });
  } catch (error) {
    remove();
    throw error;
  }
  const written = JSON.parse(readFileSync(join(openClaw, "package.json"), "utf8")) as { version: string };
  const environment = { REVEILLE_OPENCLAW: openClaw, REVEILLE_OPENCLAW_HOME: home };
  return { openClaw, home, version: written.version, environment, remove };
}

/** The host's install scripts are not needed, and not run. */
function installHost(version: string, folder: string): void {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  run("npm", ["install", `openclaw@${version}`, "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: folder });
}

/** Builds a copy and packs it, so that the checkout's own `dist` stays as it is; returns the archive. */
function packPackage(folder: string): string {
  mkdirSync(folder, { recursive: true });
  run(process.execPath, [join(root, "scripts/bundle.ts"), join(folder, "dist"), ...DRIVER_ENTRIES], { cwd: root });
  for (const name of ["package.json", "plugin.json", "openclaw.plugin.json", "docs", "LICENSE", "README.md"]) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  run("npm", ["pack", "--ignore-scripts", "--silent"], { cwd: folder });
  const [archive] = globSync("*.tgz", { cwd: folder });
  if (archive === undefined) throw new Error("npm pack has made no archive.");
  return join(folder, archive);
}

function installPlugin({ openClaw, home, archive }: { openClaw: string; home: string; archive: string }): void {
  mkdirSync(join(home, ".openclaw"), { recursive: true, mode: 0o700 });
  writeFileSync(
    join(home, ".openclaw/openclaw.json"),
    JSON.stringify({ gateway: { mode: "local" }, update: { checkOnStart: false } }),
  );
  const command = ["plugins", "install", archive, "--force", "--accept-capabilities"];
  run(process.execPath, [join(openClaw, "openclaw.mjs"), ...command], { cwd: home, env: homeEnvironment(home) });
}

/** Under the node that runs this, also when the command is a script that looks for one. */
function run(command: string, args: readonly string[], options: { cwd: string; env?: NodeJS.ProcessEnv }): void {
  const path = [dirname(process.execPath), process.env["PATH"]].join(delimiter);
  const env = { ...process.env, ...options.env, PATH: path };
  const limit = { timeout: COMMAND_MS, killSignal: "SIGKILL" } as const;
  const { status, signal, error } = spawnSync(command, args, {
    ...limit,
    cwd: options.cwd,
    env,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (status === 0) return;
  const reason = error?.message ?? String(status ?? signal);
  throw new Error(`${command} ${args.join(" ")} ended with ${reason}.`, { cause: error });
}
