/**
 * Runs the suites of `test/openclaw` inside the real OpenClaw: installs the host, builds and packs this
 * package, installs it with the host's own command into a home in a temporary folder, and starts vitest.
 *
 *   node scripts/test-openclaw.ts [--version <version of openclaw>] [--openclaw <folder of the package>] [-- <vitest arguments>]
 *
 * The host has 650 MB: it is installed once for each version, below the system's temporary folder.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { homeEnvironment } from "../test/openclaw/openclaw-installation.ts";

const NEWEST = "2026.9.6";
const root = resolve(import.meta.dirname, "..");

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { version: { type: "string", default: NEWEST }, openclaw: { type: "string" } },
});

const openClaw = values.openclaw === undefined ? installHost(values.version) : resolve(values.openclaw);
const work = mkdtempSync(join(tmpdir(), "reveille-test-openclaw-"));
try {
  const home = join(work, "home");
  installPlugin({ openClaw, home, archive: packPackage(join(work, "package")) });
  const env = { ...process.env, REVEILLE_OPENCLAW: openClaw, REVEILLE_OPENCLAW_HOME: home };
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", "--config", join(root, "vitest.openclaw.config.ts"), ...positionals];
  process.exitCode = spawnSync(process.execPath, args, { cwd: root, env, stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(work, { recursive: true, force: true, maxRetries: 5 });
}

/** The host's scripts are not needed, and not run. */
function installHost(version: string): string {
  const folder = join(tmpdir(), `reveille-openclaw-${version}`);
  const installed = join(folder, "node_modules/openclaw");
  if (existsSync(join(installed, "openclaw.mjs"))) return installed;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  run("npm", ["install", `openclaw@${version}`, "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: folder });
  return installed;
}

/** Builds a copy and packs it, so that the checkout's own `dist` stays as it is; returns the archive. */
function packPackage(folder: string): string {
  mkdirSync(folder, { recursive: true });
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  run(process.execPath, [tsc, "-p", "tsconfig.build.json", "--outDir", join(folder, "dist")], { cwd: root });
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
  const env = { ...process.env, ...homeEnvironment(home) };
  run(process.execPath, [join(openClaw, "openclaw.mjs"), ...command], { cwd: home, env });
}

function run(command: string, args: readonly string[], options: { cwd: string; env?: NodeJS.ProcessEnv }): void {
  const { status } = spawnSync(command, args, { ...options, stdio: ["ignore", "inherit", "inherit"] });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}.`);
}
