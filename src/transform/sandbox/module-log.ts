import type { Logger } from "../../core/host.ts";
import type { SandboxReply } from "./messages.ts";

type LogReply = Extract<SandboxReply, { is: "log" }>;

/** Lines at once, and how many more each second. */
const BURST = 100;
const PER_SECOND = 10;

/** Hands what modules write to the console to the gateway's log, a bounded number of lines in a time. */
export class ModuleLog {
  readonly #logger: Logger;
  #allowed = BURST;
  #countedAt = performance.now();
  #dropped = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  write({ level, text }: LogReply, module: string | undefined): void {
    const now = performance.now();
    this.#allowed = Math.min(BURST, this.#allowed + ((now - this.#countedAt) / 1_000) * PER_SECOND);
    this.#countedAt = now;
    if (this.#allowed < 1) {
      this.#dropped++;
      return;
    }
    this.#allowed--;
    if (this.#dropped > 0) this.#logger.warn({ module, dropped: this.#dropped }, "transforms write too many lines");
    this.#dropped = 0;
    this.#logger[level]({ module }, `transform: ${text}`);
  }
}
