import ms from "ms";
import { type Answer, answerJson } from "../http/answer.ts";
import { sumByMapping } from "../index.ts";
import type { ApiEndpoints, ApiSources } from "./endpoint.ts";
import { ApiQueryError, readApiQuery } from "./request.ts";
import { readFilter } from "./selection.ts";

const DAY_MS = 86_400_000;
const SPANS = ["1m", "1h", "1d"] as const;
/** Spans of one answer. */
const MAX_SPANS = 1_500;

/**
 * `deliveries/stats`: counts of a period (`since`, `until`; the last 24 hours when absent) by mapping; with `span`
 * (`1m`, `1h`, `1d`) also by time.
 */
export function statsEndpoint(sources: ApiSources): ApiEndpoints {
  const recent = new RecentAnswers();
  return { "deliveries/stats": { GET: ({ search }) => recent.of(search, () => countFor(search, sources)) } };
}

async function countFor(search: string, { operations, clock }: ApiSources): Promise<Answer> {
  const query = readApiQuery(search, ["since", "until", "span"]);
  const { span, ...written } = Object.fromEntries(query);
  const now = clock.now();
  const { receivedFrom: from = now - DAY_MS, receivedBefore: before = now } = readFilter(written, now);
  if (from >= before) throw new ApiQueryError("since must be before until.");
  const { stats, gauges } = operations();
  const period = { since: new Date(from).toISOString(), until: new Date(before).toISOString() };
  const bucketMs = span === undefined ? before - from : readSpan(span);
  if ((before - from) / bucketMs > MAX_SPANS) {
    throw new ApiQueryError(`The period has more than ${MAX_SPANS} spans of ${span}; take a longer span.`);
  }
  const { rows, isCut } = await stats.read({ from, before, bucketMs });
  const mappings = sumByMapping(rows, { from, before });
  const forecastBytes = stats.forecastBytes(mappings.reduce((sum, { perDay }) => sum + perDay.bytes, 0));
  if (span === undefined) return answerJson(200, { ...period, mappings, forecastBytes });
  const refused = gauges.measurements.refusedMinutes.since(from, now);
  const spans = { spanSeconds: bucketMs / 1_000, rows, isCut, refused };
  return answerJson(200, { ...period, mappings, forecastBytes, ...spans });
}

/** An answer is good for 300 times as long as it took: a page that asks again and again costs a 300th of a core. */
const TIMES_AS_LONG = 300;
const MIN_GOOD_MS = 500;
const MAX_ANSWERS = 50;

class RecentAnswers {
  readonly #answers = new Map<string, { readonly answer: Promise<Answer>; goodUntilMs: number }>();
  /** What was asked before then also waited for the thread that reads to start, which happens once. */
  #startedMs = Infinity;

  of(search: string, count: () => Promise<Answer>): Promise<Answer> {
    const known = this.#answers.get(search);
    const startMs = performance.now();
    if (known !== undefined && startMs < known.goodUntilMs) return known.answer;
    const [oldest] = this.#answers.keys();
    if (oldest !== undefined && this.#answers.size >= MAX_ANSWERS) this.#answers.delete(oldest);
    // While it is being counted, who asks for the same waits for it.
    const entry = { answer: count(), goodUntilMs: Infinity };
    this.#answers.set(search, entry);
    entry.answer.then(
      () => {
        const now = performance.now();
        entry.goodUntilMs = now + (startMs < this.#startedMs ? MIN_GOOD_MS : goodForMs(now - startMs));
        this.#startedMs = Math.min(this.#startedMs, now);
      },
      () => this.#answers.delete(search),
    );
    return entry.answer;
  }
}

function goodForMs(tookMs: number): number {
  return Math.max(MIN_GOOD_MS, TIMES_AS_LONG * tookMs);
}

function readSpan(text: string): number {
  const span = SPANS.find((known) => known === text);
  if (span === undefined) throw new ApiQueryError(`span must be one of ${SPANS.join(", ")}.`);
  return ms(span);
}
