import type { ApiEndpoints } from "./endpoint.ts";
import type { ApiSources } from "./endpoint.ts";
import { DeliveriesApi } from "./deliveries.ts";
import { PreviewsApi } from "./previews.ts";
import { statsEndpoint } from "./stats.ts";
import { WaitsApi } from "./waits.ts";
import { HooksApi } from "./hooks.ts";
import { metricsEndpoint } from "./metrics.ts";

/** The endpoints that every host's API has: the deliveries, the mappings that take them, and what is measured. */
export function operatorEndpoints(sources: ApiSources): ApiEndpoints {
  return {
    ...new DeliveriesApi(sources).endpoints(),
    ...new HooksApi(sources).endpoints(),
    ...new PreviewsApi(sources).endpoints(),
    ...new WaitsApi(sources).endpoints(),
    ...metricsEndpoint(sources),
    ...statsEndpoint(sources),
  };
}
