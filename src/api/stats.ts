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

async function countFor(search: string, { operations, clock }: ApiSources): Promise<Counted> {
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
  const deliveries = mappings.reduce((sum, mapping) => sum + mapping.deliveries, 0);
  if (span === undefined) return { answer: answerJson(200, { ...period, mappings, forecastBytes }), deliveries };
  const refused = gauges.measurements.refusedMinutes.since(from, now);
  const spans = { spanSeconds: bucketMs / 1_000, rows, isCut, refused };
  return { answer: answerJson(200, { ...period, mappings, forecastBytes, ...spans }), deliveries };
}

/** How long an answer is good for each delivery that it counts, so that a page that asks on and on costs little. */
const GOOD_MS_PER_DELIVERY = 0.3;
const MIN_GOOD_MS = 500;
const MAX_GOOD_MS = 120_000;
const MAX_ANSWERS = 50;

interface Counted {
  readonly answer: Answer;
  readonly deliveries: number;
}

class RecentAnswers {
  readonly #answers = new Map<string, { readonly counted: Promise<Counted>; goodUntilMs: number }>();

  async of(search: string, count: () => Promise<Counted>): Promise<Answer> {
    const known = this.#answers.get(search);
    if (known !== undefined && performance.now() < known.goodUntilMs) return (await known.counted).answer;
    const [oldest] = this.#answers.keys();
    if (oldest !== undefined && this.#answers.size >= MAX_ANSWERS) this.#answers.delete(oldest);
    // While it is being counted, who asks for the same waits for it.
    const entry = { counted: count(), goodUntilMs: Infinity };
    this.#answers.set(search, entry);
    entry.counted.then(
      ({ deliveries }) => (entry.goodUntilMs = performance.now() + goodForMs(deliveries)),
      () => this.#answers.delete(search),
    );
    return (await entry.counted).answer;
  }
}

/** Counts of few deliveries are soon made again: by the work, not by the time it took, which other work may lengthen. */
function goodForMs(deliveries: number): number {
  return Math.min(MIN_GOOD_MS + deliveries * GOOD_MS_PER_DELIVERY, MAX_GOOD_MS);
}

function readSpan(text: string): number {
  const span = SPANS.find((known) => known === text);
  if (span === undefined) throw new ApiQueryError(`span must be one of ${SPANS.join(", ")}.`);
  return ms(span);
}
