import type { ApiEndpoints } from "./endpoint.ts";
import type { ApiSources } from "./sources.ts";
import { DeliveriesApi } from "./deliveries-api.ts";
import { HooksApi } from "./hooks-api.ts";

/** What every host's API has: the deliveries, and the mappings that take them. */
export function operatorEndpoints(sources: ApiSources): ApiEndpoints {
  return { ...new DeliveriesApi(sources).endpoints(), ...new HooksApi(sources).endpoints() };
}
