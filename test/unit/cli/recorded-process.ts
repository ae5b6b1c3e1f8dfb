import { EventEmitter, once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CliGateway } from "../../../src/cli/gateway.ts";
import type { CliIo } from "../../../src/cli/io.ts";
import { addEmbeddedCommands } from "../../../src/cli/embedded-gateway.ts";
import { EmbeddedCliGateway } from "../../../src/cli/embedded-gateway.ts";
import { runCli } from "../../../src/cli/run.ts";
import type { AddCommands } from "../../../src/cli/run.ts";
import { recordingLogger } from "../hosts/embedded/server/recording-logger.ts";

/** A process for the command line: what it writes is kept, and a test sends its signals. */
export class RecordedProcess {
  readonly homeDir = mkdtempSync(join(tmpdir(), "reveille-cli-"));
  readonly env: Record<string, string> = {};
  readonly gateway = new EmbeddedCliGateway(this);
  readonly signals = new EventEmitter();
  readonly exits: number[] = [];
  readonly logger = { ...recordingLogger(), flush: async (): Promise<void> => {} };
  readonly #output = new EventEmitter();
  out = "";
  err = "";
  isTerminal = false;
  /** What is piped into the command. */
  piped: Uint8Array | undefined;
  /** What is answered to questions, in order; `undefined`: no one can be asked. */
  answers: boolean[] | undefined;

  /** What is typed at hidden questions, in order; `undefined`: no one can be asked. */
  typed: string[] | undefined;

  get configFile(): string {
    return join(this.homeDir, ".reveille", "reveille.json5");
  }

  run(...args: readonly string[]): Promise<number> {
    return this.runFor(this.gateway, addEmbeddedCommands, args);
  }

  /** Runs a command line about another gateway. */
  runFor(gateway: CliGateway, addCommands: AddCommands, args: readonly string[]): Promise<number> {
    return runCli(args, this.#io(gateway), addCommands);
  }

  /** Starts `serve` and resolves when it is ready, with its URL and the exit code to come. */
  async serve(...args: readonly string[]): Promise<{ readonly url: string; readonly code: Promise<number> }> {
    const code = this.run("serve", "--port", "0", ...args);
    const ended = code.then(() => "ended" as const);
    for (;;) {
      const event = await Promise.race([once(this.#output, "line"), ended]);
      const url = /http:\S+/u.exec(this.out)?.[0];
      if (url !== undefined) return { url, code };
      if (event === "ended") throw new Error(`It did not start: ${this.err}`);
    }
  }

  remove(): void {
    rmSync(this.homeDir, { recursive: true, force: true, maxRetries: 5 });
  }

  async #answer(question: string): Promise<boolean> {
    this.err += `${question}\n`;
    return this.answers?.shift() ?? false;
  }

  #io(gateway: CliGateway): CliIo {
    return {
      out: (text) => {
        this.out += typeof text === "string" ? text : Buffer.from(text).toString();
        this.#output.emit("line");
      },
      err: (text) => {
        this.err += text;
      },
      isTerminal: this.isTerminal,
      isUnread: () => false,
      readInput: () => Promise.resolve(this.piped ?? new Uint8Array()),
      readPiped: () => Promise.resolve(this.piped),
      ...(this.answers === undefined ? {} : { confirm: (question) => this.#answer(question) }),
      ...(this.typed === undefined ? {} : { ask: async () => this.typed?.shift() ?? "" }),
      env: this.env,
      gateway,
      signals: this.signals,
      exit: (code) => {
        this.exits.push(code);
      },
      createLogger: () => this.logger,
    };
  }
}
