import { setTimeout as sleep } from "node:timers/promises";
import { EXIT_CODES } from "./exit-codes.ts";
import type { CliIo } from "./io.ts";

export type EndSignal = "SIGINT" | "SIGTERM";

/** Time that interrupted work may take to end. */
export const INTERRUPT_GRACE_MS = 2_000;

/** The first signal that asks for an end. */
export class EndSignals {
  readonly #io: CliIo;
  readonly #ended = Promise.withResolvers<EndSignal>();
  readonly #listeners = (["SIGINT", "SIGTERM"] as const).map(
    (signal) => [signal, () => this.#ended.resolve(signal)] as const,
  );

  constructor(io: CliIo) {
    this.#io = io;
    for (const [signal, listener] of this.#listeners) io.signals.on(signal, listener);
  }

  get ended(): Promise<EndSignal> {
    return this.#ended.promise;
  }

  forget(): void {
    for (const [signal, listener] of this.#listeners) this.#io.signals.off(signal, listener);
  }
}

/**
 * Does work that a signal interrupts, and resolves with the exit code. The work's own signal is then
 * aborted, and it has a moment to remove what it has made.
 */
export async function untilSignal(io: CliIo, work: (interrupted: AbortSignal) => Promise<number>): Promise<number> {
  const signals = new EndSignals(io);
  const interrupted = new AbortController();
  try {
    const working = work(interrupted.signal);
    const first = await Promise.race([working, signals.ended]);
    if (typeof first === "number") return first;
    interrupted.abort(new Error("The command was interrupted."));
    await Promise.race([working.catch(() => 1), sleep(INTERRUPT_GRACE_MS)]);
    return EXIT_CODES[first];
  } finally {
    signals.forget();
  }
}
