import { signsUrl } from "./auth/content.ts";
import type { Findings } from "./errors.ts";
import type { HooksConfig } from "./hooks.ts";
import type { MappingConfig } from "./mapping/schema.ts";

const WHERE = "hooks.publicUrl";
const EXAMPLE = 'write for example "https://gateway.example.com"';

/**
 * Reads the public URL of the gateway: https and without a trailing slash, the URL that senders call and
 * sign. http is accepted too, with a warning unless it is loopback.
 */
export function readPublicUrl(written: string | undefined, hookPath: string, findings: Findings): string | undefined {
  const trimmed = written?.trim();
  if (!trimmed) return undefined;
  const url = URL.parse(trimmed);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    findings.refuse(WHERE, `is not an http or https URL; ${EXAMPLE}`);
    return undefined;
  }
  const surplus = surplusOf(url, trimmed);
  if (surplus !== undefined) {
    findings.refuse(WHERE, `must not hold ${surplus}; ${EXAMPLE}`);
    return undefined;
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    findings.warn(WHERE, "is not https: anyone on the network can read and change what senders post");
  }
  const publicUrl = `${url.origin}${url.pathname}`.replace(/\/+$/, "");
  if (publicUrl.endsWith(hookPath)) {
    findings.warn(WHERE, `ends with hooks.path, which follows it once more: ${publicUrl}${hookPath}`);
  }
  return publicUrl;
}

/** Refuses a sender that signs or reads the URL while `hooks.publicUrl` is not set. */
export function checkPublicUrl({ mappings, publicUrl }: HooksConfig, findings: Findings): void {
  const needing = publicUrl === undefined ? mappings.find(needsUrl) : undefined;
  if (needing === undefined) return;
  findings.refuse(
    WHERE,
    `is required by ${needing.where}, whose sender signs the URL that it calls: the public URL of the gateway; ${EXAMPLE}`,
  );
}

function needsUrl({ auth, handshakes }: MappingConfig): boolean {
  if (auth?.scheme === "signature" && signsUrl(auth)) return true;
  return handshakes.some(({ computed, reply }) => JSON.stringify([computed, reply]).includes("{url}"));
}

/** Names the part of a URL besides host, port and path, without showing it. */
function surplusOf(url: URL, written: string): string | undefined {
  if (url.username !== "" || url.password !== "") return "a user name or password";
  if (written.includes("?")) return "a query";
  return written.includes("#") ? "a fragment" : undefined;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(?:\.\d+){3}$/.test(host);
}
