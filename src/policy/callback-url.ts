import type { CallbacksConfig } from "../config/callbacks.ts";
import { refuse, type Refusal } from "../core/errors.ts";
import { fetchableUrl } from "../http/guarded-fetch.ts";

/**
 * Refuses the URL of a callback that is never called: it is not https at port 443, holds credentials, is
 * longer than 2,048 characters, or its host is not one of `hooks.callbacks.hosts`.
 */
export function checkCallbackUrl(text: string, callbacks: CallbacksConfig | undefined): Refusal | undefined {
  try {
    if (callbacks !== undefined && isCallbackHost(fetchableUrl(text).hostname, callbacks)) return undefined;
  } catch {
    // The one message of the table says what a URL has to be.
  }
  return refuse("CALLBACK_NOT_ALLOWED");
}

/** True when the configuration allows callbacks to a host, in lower case as in a parsed URL. */
export function isCallbackHost(hostname: string, { hosts }: Pick<CallbacksConfig, "hosts">): boolean {
  return hosts.some((host) => (host.startsWith("*.") ? hostname.endsWith(host.slice(1)) : hostname === host));
}
