import type { ApiEndpoints } from "./endpoint.ts";
import type { ApiSources } from "./endpoint.ts";
import { DeliveriesApi } from "./deliveries.ts";
import { PreviewsApi } from "./previews.ts";
import { HooksApi } from "./hooks.ts";

/** The endpoints that every host's API has: the deliveries, and the mappings that take them. */
export function operatorEndpoints(sources: ApiSources): ApiEndpoints {
  return {
    ...new DeliveriesApi(sources).endpoints(),
    ...new HooksApi(sources).endpoints(),
    ...new PreviewsApi(sources).endpoints(),
  };
}
