import type { CliIo } from "./io.ts";

const BAR_CHARS = 30;

/** On a terminal only, on one line that is written over. */
export class ProgressBar {
  readonly #io: CliIo;
  readonly #isShown: boolean;
  #isOpen = false;

  constructor(io: CliIo, isJson: boolean) {
    this.#io = io;
    this.#isShown = io.isTerminal && !isJson;
  }

  show({ done, total, what }: { readonly done: number; readonly total: number; readonly what: string }): void {
    if (!this.#isShown) return;
    const filled = Math.floor((BAR_CHARS * done) / total);
    const bar = `${"#".repeat(filled)}${"-".repeat(BAR_CHARS - filled)}`;
    this.#io.out(`\r\u001b[K[${bar}] ${Math.floor((100 * done) / total)} %  ${done} of ${total} ${what}`);
    this.#isOpen = true;
  }

  end(): void {
    if (this.#isOpen) this.#io.out("\n");
    this.#isOpen = false;
  }
}
