/** The operator's API in the host: behind the host's own authentication. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { answerEntry, errorEntry } from "../api/api-errors.ts";
import { ApiRouter } from "../api/api-router.ts";
import type { ApiSources } from "../api/api-sources.ts";
import { operatorEndpoints } from "../api/operator-endpoints.ts";
import { sendAnswer } from "../http/send-answer.ts";
import type { HttpRoute } from "../host.ts";

const CROSS_SITE = errorEntry(403, "Pages of other sites may not use this API.");

/** Where the API is: below a path that no other plugin has. */
export function operatorPath(pluginId: string): string {
  return `/plugins/${pluginId}/api/v1`;
}

/** The route of the API; who calls it was let in by the host. */
export function operatorRoute(pluginId: string, sources: ApiSources): HttpRoute {
  const path = operatorPath(pluginId);
  const api = new ApiRouter({ prefix: path, endpoints: operatorEndpoints(sources), admit: refuseOtherSites });
  return { path, match: "prefix", handler: (req, res) => api.handle(req, res) };
}

/**
 * A host without authentication lets everybody in who reaches it, and a browser on the same machine does so
 * for any page that it shows.
 */
function refuseOtherSites(req: IncomingMessage, res: ServerResponse): boolean {
  const { origin, host, "sec-fetch-site": site } = req.headers;
  const isOwn = origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
  if (isOwn && (site === undefined || site === "same-origin" || site === "none")) return true;
  sendAnswer(req, res, answerEntry("CROSS_SITE", CROSS_SITE));
  return false;
}
