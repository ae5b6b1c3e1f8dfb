import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { PageHome } from "./page-home.ts";

const root = join(import.meta.dirname, "../..");

/** `npm start` as a stranger types it, on a free port. */
export class NpmStart {
  readonly #child: ChildProcess;
  /** Everything on standard output. */
  out = "";
  /** Everything on standard error: the first steps for people, then the log. */
  err = "";
  /** Where the gateway says that it is. */
  readonly url: Promise<string>;

  constructor(home: PageHome) {
    const env = home.environment();
    const child = spawn("npm", ["start", "--silent", "--", "--port", "0"], { cwd: root, env, detached: true });
    this.#child = child;
    child.stderr.on("data", (chunk: Buffer) => (this.err += chunk.toString()));
    this.url = new Promise((resolve, reject) => {
      child.stdout.on("data", (chunk: Buffer) => {
        this.out += chunk.toString();
        const url = /\S+$/m.exec(this.out.trimEnd())?.[0];
        if (this.out.endsWith("\n") && url !== undefined) resolve(url);
      });
      child.once("exit", (code) => reject(new Error(`npm start ended with ${code}: ${this.err}`)));
    });
  }

  /** Ctrl-C: the terminal sends the signal to npm and to what npm has started. Gives the exit code. */
  async interrupt(): Promise<number | null> {
    const { pid, exitCode } = this.#child;
    if (exitCode !== null || pid === undefined) return exitCode;
    const exited = once(this.#child, "exit");
    process.kill(-pid, "SIGINT");
    const [code] = (await exited) as [number | null];
    return code;
  }
}
