import ms from "ms";
import { answerJson } from "../http/answer.ts";
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
export function statsEndpoint({ operations, clock }: ApiSources): ApiEndpoints {
  return {
    "deliveries/stats": {
      GET: async ({ search }) => {
        const query = readApiQuery(search, ["since", "until", "span"]);
        const { span, ...written } = Object.fromEntries(query);
        const now = clock.now();
        const { receivedFrom: from = now - DAY_MS, receivedBefore: before = now } = readFilter(written, now);
        if (from >= before) throw new ApiQueryError("since must be before until.");
        const { stats, gauges } = operations();
        const period = { since: new Date(from).toISOString(), until: new Date(before).toISOString() };
        const mappings = await stats.byMapping({ from, before });
        const forecastBytes = stats.forecastBytes(mappings.reduce((sum, { perDay }) => sum + perDay.bytes, 0));
        if (span === undefined) return answerJson(200, { ...period, mappings, forecastBytes });
        const bucketMs = readSpan(span);
        if ((before - from) / bucketMs > MAX_SPANS) {
          throw new ApiQueryError(`The period has more than ${MAX_SPANS} spans of ${span}; take a longer span.`);
        }
        const { rows, isCut } = await stats.read({ from, before, bucketMs });
        const refused = gauges.measurements.refusedMinutes.since(from, now);
        return answerJson(200, {
          ...period,
          mappings,
          forecastBytes,
          spanSeconds: bucketMs / 1_000,
          rows,
          isCut,
          refused,
        });
      },
    },
  };
}

function readSpan(text: string): number {
  const span = SPANS.find((known) => known === text);
  if (span === undefined) throw new ApiQueryError(`span must be one of ${SPANS.join(", ")}.`);
  return ms(span);
}
