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

  /** True where a person sees it. */
  get isShown(): boolean {
    return this.#isShown;
  }

  show({ done, total, what }: { readonly done: number; readonly total: number; readonly what: string }): void {
    if (!this.#isShown || total === 0) return;
    const filled = Math.min(BAR_CHARS, Math.floor((BAR_CHARS * done) / total));
    const bar = `${"#".repeat(filled)}${"-".repeat(BAR_CHARS - filled)}`;
    this.#io.out(`\r\u001b[K[${bar}] ${Math.floor((100 * done) / total)} %  ${done} of ${total} ${what}`);
    this.#isOpen = true;
  }

  end(): void {
    if (this.#isOpen) this.#io.out("\n");
    this.#isOpen = false;
  }
}
