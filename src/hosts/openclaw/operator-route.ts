/** The operator's API in the host: behind the host's own authentication. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";
import { sendError } from "../../api/errors.ts";
import { ApiRouter } from "../../api/router.ts";
import type { ApiEndpoints } from "../../api/endpoint.ts";
import type { HttpRoute } from "../../core/host.ts";
import type { OpenClawConfig } from "./sdk.ts";
import { operatorAccess } from "./read-config.ts";

/** The path of the API: below one that no other plugin has. */
export function operatorPath(pluginId: string): string {
  return `/plugins/${pluginId}/api/v1`;
}

/** The route of the API; who calls it was let in by the host. */
export function operatorRoute(
  pluginId: string,
  { endpoints, config }: { readonly endpoints: ApiEndpoints; readonly config: () => OpenClawConfig },
): HttpRoute {
  const path = operatorPath(pluginId);
  const admit = (req: IncomingMessage, res: ServerResponse): boolean => {
    if (isOfThisSite(req) && hasOwnName(req, config())) return true;
    sendError(res, "CROSS_SITE");
    return false;
  };
  const api = new ApiRouter({ prefix: path, endpoints, admit });
  return { path, match: "prefix", handler: (req, res) => api.handle(req, res) };
}

/**
 * A host without authentication lets everybody in who reaches it, and a browser on the same machine does so
 * for any page that it shows.
 */
function isOfThisSite({ headers }: IncomingMessage): boolean {
  const { origin, host, "sec-fetch-site": site } = headers;
  const isOwn = origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
  return isOwn && (site === undefined || site === "same-origin" || site === "none");
}

/**
 * A page of another site is of this one for the browser when its name leads here; only the name shows it then. It
 * may send every header, so that a credential counts only where the host asks for one.
 */
function hasOwnName({ headers }: IncomingMessage, config: OpenClawConfig): boolean {
  const { mode, hosts } = operatorAccess(config);
  if (mode === "trusted-proxy" || (mode !== "none" && headers.authorization !== undefined)) return true;
  const url = `http://${headers.host ?? ""}`;
  if (!URL.canParse(url)) return false;
  const { host, hostname } = new URL(url);
  const isAddress = isIP(hostname.replaceAll(/^\[|\]$/g, "")) !== 0;
  const isLocal = hostname === "localhost" || /\.(?:localhost|local|ts\.net)$/.test(hostname);
  return isAddress || isLocal || hosts.includes(host);
}
