import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { RecordedProcess } from "../recorded-process.ts";

/** A command line with a configuration and a folder of transforms. */
export class TransformTerminal implements Disposable {
  readonly process = new RecordedProcess();
  readonly configDir = dirname(this.process.configFile);
  readonly folder = join(this.configDir, "hooks", "transforms");

  configure(hooks: object = {}, channels: object = { console: { enabled: true } }): void {
    mkdirSync(this.folder, { recursive: true });
    const config = {
      gateway: { auth: { token: "gateway-token-of-these-tests" }, shutdownSeconds: 5 },
      agents: { defaults: { heartbeat: { every: "0m" } } },
      channels,
      hooks: { enabled: true, token: "hook-token-of-these-tests-here", ...hooks },
    };
    writeFileSync(this.process.configFile, JSON.stringify(config), { mode: 0o600 });
  }

  /** Writes a file below the home folder's configuration, and gives its path. */
  write(path: string, text: string): string {
    const file = join(this.configDir, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  }

  /** Writes a module into the transforms folder. */
  module(name: string, text: string): string {
    return this.write(join("hooks", "transforms", name), text);
  }

  /** Runs a command and gives what it did; what was printed before is forgotten. */
  async run(
    ...args: readonly string[]
  ): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
    this.process.out = "";
    this.process.err = "";
    const code = await this.process.run(...args);
    return { code, out: this.process.out, err: this.process.err };
  }

  async json(...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
    const { out } = await this.run(...args, "--json");
    return JSON.parse(out) as Record<string, unknown>;
  }

  [Symbol.dispose](): void {
    this.process.remove();
  }
}
