/** What has happened to calls over several ends of the gateway, and whether that may be. */
import type { SentMessage } from "../../test/openclaw/bot-api-server.ts";
import type { ModelCall } from "./bench-model.ts";

/** A message that came this long before an end may be sent again: the step was in progress. */
const SENDING_MS = 2_000;
const SAMPLE_MS = 20;
/** A session of one attempt of ours, with its number; one that never came to the model leaves a gap. */
const ATTEMPT = /:subagent:.+-a(\d+)-[0-9a-f]{12}$/;

export interface CrashVerdict {
  readonly accepted: number;
  /** Calls whose reply has never come to Telegram. */
  readonly lost: readonly string[];
  /** Attempts that were in progress at an end and came again: documented. */
  readonly rerun: number;
  /** Of these, attempts that the model had answered, though no one knew of it yet. */
  readonly rerunAfterAnswer: number;
  /** Messages that were on their way at an end and came again: documented. */
  readonly sentAgain: number;
  /** What came twice otherwise: a sentence for each. */
  readonly doubled: readonly string[];
}

type Run = ModelCall & { readonly word: string };

/** Notes when messages come and when the gateway ends. */
export class CrashRecord {
  readonly #sent: readonly SentMessage[];
  readonly #from: number;
  readonly #times: number[] = [];
  readonly #ends: number[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(sent: readonly SentMessage[]) {
    this.#sent = sent;
    this.#from = sent.length;
    this.#timer = setInterval(() => this.#look(), SAMPLE_MS);
  }

  /** To be called as soon as the gateway was killed. */
  ended(): void {
    this.#look();
    this.#ends.push(Date.now());
  }

  close(): void {
    clearInterval(this.#timer);
    this.#look();
  }

  judge(words: readonly string[], runs: readonly Run[]): CrashVerdict {
    const verdict = { rerun: 0, rerunAfterAnswer: 0, sentAgain: 0, doubled: [] as string[], lost: [] as string[] };
    for (const word of words) {
      const times = this.#timesOf(word);
      const attempts = runs.filter((run) => run.word === word);
      if (times.length === 0) verdict.lost.push(word);
      for (const [at, time] of times.entries()) {
        const before = times[at - 1];
        if (before === undefined) continue;
        if (this.#ends.some((end) => before >= end - SENDING_MS && before <= end && end <= time)) verdict.sentAgain++;
        else verdict.doubled.push(`${word} was sent twice without an end in between.`);
      }
      for (const [at, attempt] of attempts.entries()) {
        const before = attempts[at - 1];
        const why = whoseNot(attempt) ?? (before && this.#whyNot(before, attempt, times[0]));
        if (why !== undefined) verdict.doubled.push(`${word} ran ${why}.`);
        else if (before !== undefined) verdict.rerun++;
        if (why === undefined && before?.isAnswered === true) verdict.rerunAfterAnswer++;
      }
    }
    return { accepted: words.length, ...verdict };
  }

  /** Why an attempt may not have come after the one before; `undefined` when it may. */
  #whyNot(before: Run, attempt: Run, sentAt: number | undefined): string | undefined {
    if ((attemptOf(before) ?? 0) >= (attemptOf(attempt) ?? 0)) return "again in the session of an earlier attempt";
    if (!this.#ends.some((end) => before.beganAt <= end && end <= attempt.beganAt)) {
      return "again although the gateway did not end in between";
    }
    return sentAt !== undefined && sentAt <= attempt.beganAt ? "again after its reply was sent" : undefined;
  }

  #timesOf(word: string): number[] {
    const text = `Done: ${word}`;
    return this.#times.filter((_, at) => this.#sent[this.#from + at]?.text === text);
  }

  #look(): void {
    const now = Date.now();
    while (this.#from + this.#times.length < this.#sent.length) this.#times.push(now);
  }
}

function whoseNot(attempt: Run): string | undefined {
  return attemptOf(attempt) === undefined ? `in ${attempt.session}, which is not one of Reveille's` : undefined;
}

function attemptOf({ session }: Run): number | undefined {
  const number = ATTEMPT.exec(session)?.[1];
  return number === undefined ? undefined : Number(number);
}
