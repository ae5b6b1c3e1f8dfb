/** A module's output to its console during an attempt. */
import { format } from "node:util";
import type { Logger } from "../../core/host.ts";

export interface ConsoleLine {
  readonly level: Level;
  readonly text: string;
}

type Level = "debug" | "info" | "warn" | "error";

const LEVELS = ["debug", "info", "warn", "error"] as const;
const MAX_LINES = 200;
/** The mark of a module's output in the log; see `src/transform/sandbox/module-pools.ts`. */
const OF_MODULE = "transform: ";

/**
 * Keeps the lines of a module's console: of a sandbox process they come by the logger, and of a module in
 * this process by its `console`, while it is {@link capture}d.
 */
export class TransformConsole {
  readonly #lines: ConsoleLine[] = [];
  #isMuted = false;

  /** For whatever loads and calls the module; other messages than the module's are dropped. */
  readonly logger: Logger = {
    debug: (_fields, message) => {
      this.#take("debug", message);
    },
    info: (_fields, message) => {
      this.#take("info", message);
    },
    warn: (_fields, message) => {
      this.#take("warn", message);
    },
    error: (_fields, message) => {
      this.#take("error", message);
    },
  };

  /** The first 200 lines. */
  get lines(): readonly ConsoleLine[] {
    return this.#lines;
  }

  /** From now on nothing is kept. */
  mute(): void {
    this.#isMuted = true;
  }

  /** Runs something while the console of this process writes here. */
  async capture<Result>(work: () => Promise<Result>): Promise<Result> {
    const { log, debug, info, warn, error } = console;
    const writer =
      (level: Level) =>
      (...values: readonly unknown[]): void =>
        this.#add(level, format(...values));
    Object.assign(console, {
      ...Object.fromEntries(LEVELS.map((level) => [level, writer(level)])),
      log: writer("info"),
    });
    try {
      return await work();
    } finally {
      Object.assign(console, { log, debug, info, warn, error });
    }
  }

  #take(level: Level, message: string): void {
    if (message.startsWith(OF_MODULE)) this.#add(level, message.slice(OF_MODULE.length));
  }

  #add(level: Level, text: string): void {
    if (!this.#isMuted && this.#lines.length < MAX_LINES) this.#lines.push({ level, text });
  }
}
