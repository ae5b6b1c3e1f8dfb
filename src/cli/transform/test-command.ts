/** `reveille transform test`. */
import { watchFile, unwatchFile } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { configLines, ConfigError } from "../../config/errors.ts";
import { watchFolder } from "../../transform/folder/watch.ts";
import { CliError } from "../errors.ts";
import type { CliIo } from "../io.ts";
import { EndSignals, INTERRUPT_GRACE_MS } from "../end-signals.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import type { EndSignal } from "../end-signals.ts";
import { printableLines } from "../terminal-text.ts";
import { TransformAttempts } from "./attempt.ts";
import type { AttemptOptions } from "./attempt.ts";
import { checkInputOptions } from "./input.ts";
import { failureJson, transformJson } from "./report.ts";
import { isGood, transformReport } from "./report.ts";

export interface TransformTestOptions extends AttemptOptions {
  readonly watch?: boolean;
  readonly json?: boolean;
}

const POLL_MS = 200;

/** Tries a transform with one request, and with `--watch` again after each change; resolves with the exit code. */
export async function testTransform(module: string, options: TransformTestOptions, io: CliIo): Promise<number> {
  checkInputOptions(options);
  const attempts = new TransformAttempts(module, options, io);
  const signals = new EndSignals(io);
  const command = new TransformTest(attempts, options, io);
  const work = options.watch === true ? command.watch(signals.ended) : command.tryOnce();
  try {
    const first = await Promise.race([work, signals.ended]);
    if (typeof first === "number") return first;
    await attempts.close();
    await Promise.race([work.catch(() => 1), sleep(INTERRUPT_GRACE_MS)]);
    return options.watch === true ? 0 : EXIT_CODES[first];
  } finally {
    signals.forget();
    await attempts.close();
  }
}

class TransformTest {
  readonly #attempts: TransformAttempts;
  readonly #options: TransformTestOptions;
  readonly #io: CliIo;

  constructor(attempts: TransformAttempts, options: TransformTestOptions, io: CliIo) {
    this.#attempts = attempts;
    this.#options = options;
    this.#io = io;
  }

  /** Rejects when it does not come to loading the module. */
  async tryOnce(): Promise<number> {
    const attempt = await this.#attempts.run();
    this.#io.out(this.#options.json === true ? transformJson(attempt) : transformReport(attempt));
    return isGood(attempt) ? 0 : 1;
  }

  /** Tries until the signal; an error is printed, and the next change awaited. */
  async watch(ended: Promise<EndSignal>): Promise<number> {
    const { config, close } = await this.#attempts.readConfiguration();
    await close();
    const changes = new Changes();
    const changed = (): void => {
      changes.notify();
    };
    const folder = await watchFolder(config.transformsDir, changed, {
      onError: (error) => {
        this.#io.err(`The folder can no longer be watched: ${printableLines(String(error))}\n`);
      },
    });
    const { payload } = this.#options;
    const file = payload === "-" ? undefined : payload;
    if (file !== undefined) watchFile(file, { interval: POLL_MS }, changed);
    try {
      for (;;) {
        await this.#tryAndPrint();
        if (this.#io.isUnread()) return 0;
        if ((await Promise.race([changes.next(), ended])) !== undefined) return 0;
      }
    } finally {
      if (file !== undefined) unwatchFile(file, changed);
      await folder.close();
    }
  }

  async #tryAndPrint(): Promise<void> {
    const isForPeople = this.#options.json !== true;
    if (isForPeople) this.#io.out(`----- ${new Date().toLocaleTimeString("en-GB")}\n`);
    try {
      await this.tryOnce();
    } catch (error) {
      const message = explainError(error);
      if (isForPeople) this.#io.out(`${printableLines(message)}\n`);
      else this.#io.out(failureJson(message));
    }
    if (isForPeople) this.#io.out("\nWaiting for changes; Ctrl-C ends it.\n");
  }
}

function explainError(error: unknown): string {
  if (error instanceof ConfigError) return `The configuration is not valid.\n${configLines(error.issues).join("\n")}`;
  if (error instanceof CliError || (error instanceof Error && "syscall" in error)) return error.message;
  throw error;
}

/** True when something has changed since it was last asked. */
class Changes {
  #changed = Promise.withResolvers<void>();

  notify(): void {
    this.#changed.resolve();
  }

  async next(): Promise<undefined> {
    await this.#changed.promise;
    this.#changed = Promise.withResolvers();
    return undefined;
  }
}
