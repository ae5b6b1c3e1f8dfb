/** What the ingress counts of itself: plain numbers, so that counting costs a request next to nothing. */

import type { TokenUsage } from "./token-usage.ts";

/** The label values of one series, in the order of the names. */
type LabelValues = readonly string[];

/** Series of one kind; further ones count together as {@link OTHER}, so that no caller can make them grow. */
const MAX_SERIES = 1_000;
/** Stands for every label value beyond the bound, and for paths that no mapping takes. */
export const OTHER = "other";

/** Counts of one kind, by one or two labels. */
export class Counts {
  readonly #series = new Map<string, { readonly labels: LabelValues; count: number }>();

  add(first: string, second?: string, by = 1): void {
    seriesOf(this.#series, first, second, (labels) => ({ labels, count: 0 })).count += by;
  }

  /** Every series that was ever counted. */
  all(): Iterable<{ readonly labels: LabelValues; readonly count: number }> {
    return this.#series.values();
  }
}

/** A distribution of one series. */
export interface Distribution {
  readonly labels: LabelValues;
  /** Observations up to each bound of the histogram, not those of the bounds before; the last are above all of them. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** Distributions of one kind, by up to two labels, over fixed upper bounds. */
export class Histogram {
  /** Ascending. */
  readonly bounds: readonly number[];
  readonly #series = new Map<string, { readonly labels: LabelValues; readonly counts: number[]; sum: number }>();

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
  }

  observe(value: number, first = "", second?: string): void {
    const series = seriesOf(this.#series, first, second, (labels) => ({
      labels,
      counts: Array.from({ length: this.bounds.length + 1 }, () => 0),
      sum: 0,
    }));
    let bucket = 0;
    while (bucket < this.bounds.length && value > this.bounds[bucket]!) bucket++;
    series.counts[bucket]!++;
    series.sum += value;
  }

  all(): Iterable<Distribution> {
    return this.#series.values();
  }
}

function seriesOf<Series>(
  all: Map<string, Series>,
  first: string,
  second: string | undefined,
  make: (labels: LabelValues) => Series,
): Series {
  const key = second === undefined ? first : `${first}\n${second}`;
  const known = all.get(key);
  if (known !== undefined) return known;
  if (all.size >= MAX_SERIES && first !== OTHER) {
    return seriesOf(all, OTHER, second === undefined ? undefined : OTHER, make);
  }
  const series = make(second === undefined ? [first] : [first, second]);
  all.set(key, series);
  return series;
}

/** Seconds of what ends within a request. */
const SHORT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
/** Seconds of what an agent does. */
const LONG_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];

/** Everything that is counted, from the start of the process on. */
export class Measurements {
  /** Accepted calls by route and state: `queued`, `duplicate`, `filtered` and so on. */
  readonly deliveries = new Counts();
  /** Refused requests by error code. */
  readonly refusals = new Counts();
  /** The same by minute, for a day. */
  readonly refusedMinutes = new MinuteCounts();
  /** From the start of an accepted request until its delivery is on disk. */
  readonly acceptSeconds = new Histogram(SHORT_SECONDS);
  /** Calls of transforms, by mapping. */
  readonly transformSeconds = new Histogram(SHORT_SECONDS);
  /** Attempts of agent runs, by agent and status. */
  readonly attemptSeconds = new Histogram(LONG_SECONDS);
  /** Runs that ended, by kind and state. */
  readonly settled = new Counts();
  /** Replies by channel and outcome. */
  readonly replies = new Counts();
  /** What no one sees and was taken out of accepted texts, by kind: `characters`, `comments`, `elements`, `urls`. */
  readonly hidden = new Counts();
  /** Tokens by agent and kind: `input`, `cached` (a part of the input) and `output`. */
  readonly tokens = new Counts();
  /** US dollars by agent, where their hosts know them. */
  readonly dollars = new Counts();

  countUsage(agentId: string, { inputTokens, outputTokens, cachedTokens = 0, costUsd = 0 }: TokenUsage): void {
    this.tokens.add(agentId, "input", inputTokens);
    this.tokens.add(agentId, "cached", cachedTokens);
    this.tokens.add(agentId, "output", outputTokens);
    if (costUsd > 0) this.dollars.add(agentId, undefined, costUsd);
  }
}

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1_440;

/** Counts by minute, for the last day. */
export class MinuteCounts {
  readonly #counts = new Uint32Array(DAY_MINUTES);
  /** The minute since the epoch that each place counts. */
  readonly #minutes = new Float64Array(DAY_MINUTES);

  /** `now` is in milliseconds since the epoch. */
  add(now: number): void {
    const minute = Math.floor(now / MINUTE_MS);
    const place = minute % DAY_MINUTES;
    if (this.#minutes[place] !== minute) {
      this.#minutes[place] = minute;
      this.#counts[place] = 0;
    }
    this.#counts[place]!++;
  }

  /** The minutes with a count, from one time on, both in milliseconds since the epoch. */
  since(from: number, now: number): readonly { readonly at: number; readonly count: number }[] {
    const last = Math.floor(now / MINUTE_MS);
    const found: { at: number; count: number }[] = [];
    for (let minute = Math.max(Math.floor(from / MINUTE_MS), last - DAY_MINUTES + 1); minute <= last; minute++) {
      const place = minute % DAY_MINUTES;
      if (this.#minutes[place] === minute) found.push({ at: minute * MINUTE_MS, count: this.#counts[place]! });
    }
    return found;
  }
}

/** What a store measures of its own commits. */
export class CommitMeasurements {
  /** Writes that shared one commit. */
  readonly size = new Histogram([1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
  readonly seconds = new Histogram(SHORT_SECONDS);
  /** Bytes of the write-ahead log after the latest commit. */
  logBytes = 0;
}
