import { vi } from "vitest";
import { reasonOf } from "../../src/core/reason-of.ts";
import type { ModelCall } from "./scripted-model.ts";

/** What a call has not led to after this will not come of it. */
const PATIENCE = { timeout: 180_000, interval: 200 };
/** Of the calls of the model and of the log that a failure shows. */
const SHOWN = { calls: 10, logChars: 6_000 };

/** What a failure shows. */
export interface Situation {
  readonly calls: readonly ModelCall[];
  readonly log: string;
  /** What else there is to show. */
  readonly more?: unknown;
}

/** Waits for what calls lead to. The error of a failure shows the situation: a bare `expected [] to have length 1` explains nothing. */
export async function eventually(assertion: () => unknown, situation: () => Promise<Situation>): Promise<void> {
  try {
    await vi.waitFor(assertion, PATIENCE);
  } catch (error) {
    const { calls, log, more } = await situation();
    const latest = calls.slice(-SHOWN.calls).map(({ session, isGivenUp }) => ({ session, isGivenUp }));
    const shown = JSON.stringify({ more, latest }, undefined, 2);
    throw new Error(`${reasonOf(error)}\n${shown}\n${log.slice(-SHOWN.logChars)}`, { cause: error });
  }
}
