import { answerContent } from "../http/answer.ts";
import { Metrics } from "../telemetry/metrics.ts";
import type { ApiEndpoints, ApiSources } from "./endpoint.ts";
import { readApiQuery } from "./request.ts";

/** `metrics`: what is measured, in the text format of Prometheus. */
export function metricsEndpoint({ operations, clock }: ApiSources): ApiEndpoints {
  const metrics = new Metrics({ gauges: () => operations().gauges, clock });
  return {
    metrics: {
      GET: async ({ search }) => {
        readApiQuery(search, []);
        const { contentType, text } = await metrics.text();
        return answerContent({ status: 200, contentType, body: text });
      },
    },
  };
}
