import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const root = join(import.meta.dirname, "../..");

export interface ShellResult {
  readonly out: string;
  readonly err: string;
  /** Exit status of the shell. */
  readonly code: number;
  /** What each curl of the script was answered with. */
  readonly statuses: readonly number[];
}

/** Has every curl report its status, and say nothing of its progress. */
const PRELUDE = `curl() { command curl --silent --show-error --write-out '%{stderr}[status %{http_code}]\\n' "$@"; }\n`;

/** The home folder of somebody who does what a page says: with the configuration's folder, and a shell. */
export class PageHome {
  readonly home = mkdtempSync(join(tmpdir(), "reveille-docs-"));
  /** Where a block that is a file goes. */
  readonly configDir = join(this.home, ".reveille");
  readonly configFile = join(this.configDir, "reveille.json5");

  constructor() {
    const packages = join(this.configDir, "node_modules");
    mkdirSync(join(packages, "reveille"), { recursive: true, mode: 0o700 });
    // As if the package were installed, without its having been built.
    writeFileSync(join(packages, "reveille/package.json"), '{ "type": "module", "exports": "./index.js" }');
    const index = pathToFileURL(join(root, "src/index.ts"));
    writeFileSync(join(packages, "reveille/index.js"), `export * from ${JSON.stringify(index.href)};\n`);
    for (const name of ["tapable", "@types"]) symlinkSync(join(root, "node_modules", name), join(packages, name));
  }

  write(file: string, text: string): void {
    const path = join(this.configDir, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode: 0o600 });
  }

  /**
   * Runs a script of sh: npm and its kin in the repository and with whatever Node the machine has,
   * everything else beside the configuration and with the Node of this project.
   */
  shell(script: string, env: Readonly<Record<string, string>> = {}): Promise<ShellResult> {
    const isOfNpm = /^np[mx] /m.test(script);
    const options = {
      cwd: isOfNpm ? root : this.configDir,
      env: { ...this.environment(isOfNpm ? [] : [dirname(process.execPath)]), ...env },
      timeout: 30_000,
    };
    return new Promise((resolve) => {
      execFile("sh", ["-c", PRELUDE + script], options, (error, out, err) => {
        const statuses = Array.from(err.matchAll(/^\[status (\d+)\]$/gm), ([, status]) => Number(status));
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ out, err: err.replaceAll(/^\[status \d+\]\n/gm, ""), code, statuses });
      });
    });
  }

  /** What a stranger's shell has: their own Node, and nothing of this project. `first` comes first in PATH. */
  environment(first: readonly string[] = []): Record<string, string> {
    const path = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));
    return { PATH: [...first, ...path].join(delimiter), HOME: this.home, npm_config_update_notifier: "false" };
  }

  remove(): void {
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}
