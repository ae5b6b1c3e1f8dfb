import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { inject } from "vitest";

const root = resolve(import.meta.dirname, "../../..");
const run = promisify(execFile);
/** What `npm pack` reads in a clone. */
const CLONE =
  "src scripts docs package.json tsconfig.json tsconfig.build.json plugin.json openclaw.plugin.json LICENSE README.md";

/**
 * The archive that `npm pack` writes in a clone, and a home in which it is installed. It is built once for all tests
 * of a run, which takes twenty seconds of a core.
 */
export class PackedReveille implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "reveille-packed-"));
  readonly home = join(this.folder, "home");
  readonly prefix = join(this.folder, "prefix");
  readonly #gateways: ChildProcess[] = [];
  readonly #npm = npmOf(this.prefix);

  /** The path of a copy, alone in its folder; rejects with what npm said. */
  async pack(): Promise<string> {
    mkdirSync(this.home);
    const shared = inject("archiveFolder");
    const [clone, made, failure] = ["clone", "made", "failure"].map((name) => join(shared, name)) as [
      string,
      string,
      string,
    ];
    if (isFirst(clone))
      await this.#packIn(clone, made).catch((error: unknown) => writeFileSync(failure, String(error)));
    while (!existsSync(made)) {
      if (existsSync(failure)) throw new Error(readFileSync(failure, "utf8"));
      await sleep(100);
    }
    const own = join(this.folder, "archive");
    cpSync(made, own, { recursive: true });
    return join(own, globSync("*.tgz", { cwd: own })[0]!);
  }

  /** `made` is there once the archive is in it. */
  async #packIn(clone: string, made: string): Promise<void> {
    for (const name of CLONE.split(" "))
      cpSync(join(root, name), join(clone, name), { recursive: true, filter: isSource });
    symlinkSync(join(root, "node_modules"), join(clone, "node_modules"));
    const target = join(clone, "made");
    mkdirSync(target);
    await this.run("npm", ["pack", "--silent", "--pack-destination", target], { cwd: clone });
    renameSync(target, made);
  }

  /** Rejects when it ends with another code than 0. */
  async run(program: string, args: readonly string[], options: { readonly cwd?: string } = {}): Promise<string> {
    const { cwd = this.home } = options;
    const { stdout } = await run(program, args, {
      cwd,
      env: this.environment(),
      maxBuffer: 16_777_216,
      timeout: 120_000,
    });
    return stdout;
  }

  /** The installed command. */
  reveille(...args: readonly string[]): Promise<string> {
    return this.run(join(this.prefix, "bin/reveille"), args);
  }

  /** Runs the installed gateway until the end; its URL, when it is ready. */
  async serve(): Promise<string> {
    const gateway = spawn(join(this.prefix, "bin/reveille"), ["serve", "--port", "0"], {
      cwd: this.home,
      env: this.environment(),
      stdio: ["ignore", "pipe", "ignore"],
    });
    this.#gateways.push(gateway);
    const [line] = (await once(gateway.stdout, "data")) as [Buffer];
    return line.toString().trim().split(" ").at(-1)!;
  }

  /** The bytes of all files of the installed packages. */
  installedBytes(): number {
    const files = globSync("lib/node_modules/**", { cwd: this.prefix, withFileTypes: true });
    return files
      .filter((file) => file.isFile())
      .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const gateway of this.#gateways) {
      if (gateway.exitCode !== null) continue;
      const ended = once(gateway, "exit");
      gateway.kill("SIGTERM");
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Of a program that runs in that home. */
  environment(): NodeJS.ProcessEnv {
    const { prefix, globalconfig, userconfig, cache } = this.#npm;
    return {
      ...process.env,
      PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter),
      HOME: this.home,
      npm_config_prefix: prefix,
      npm_config_globalconfig: globalconfig,
      npm_config_userconfig: userconfig,
      npm_config_cache: cache,
      npm_config_prefer_offline: "true",
      npm_config_audit: "false",
      npm_config_fund: "false",
    };
  }
}

/** Where npm is configured on this machine, whatever the home and the prefix of the installation. */
function npmOf(prefix: string): { prefix: string; globalconfig: string; userconfig: string; cache: string } {
  const get = (key: string): string =>
    execFileSync("npm", ["config", "get", key], { cwd: root, encoding: "utf8" }).trim();
  return { prefix, globalconfig: get("globalconfig"), userconfig: get("userconfig"), cache: get("cache") };
}

/** True for the one test that makes the folder. */
function isFirst(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

function isSource(path: string): boolean {
  return !/\/(?:node_modules|src\/console\/page)(?:\/|$)/u.test(path.slice(root.length));
}
