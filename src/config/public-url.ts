import { signsUrl } from "./auth/content.ts";
import type { Findings } from "./errors.ts";
import type { HooksConfig } from "./hooks.ts";
import type { MappingConfig } from "./mapping/schema.ts";

const WHERE = "hooks.publicUrl";
const EXAMPLE = 'write for example "https://gateway.example.com"';

/**
 * Where the outside reaches the gateway: an https URL without a trailing slash, as senders that sign
 * the URL were given it. http is taken too, with a warning beyond loopback.
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
    findings.warn(WHERE, "is not https: whoever is on the way can read and change what senders post");
  }
  const publicUrl = `${url.origin}${url.pathname}`.replace(/\/+$/, "");
  if (publicUrl.endsWith(hookPath)) {
    findings.warn(WHERE, `ends with hooks.path, which follows it once more: ${publicUrl}${hookPath}`);
  }
  return publicUrl;
}

/** Refuses a sender that signs the URL, or wants to read it, as long as nobody has said which it is. */
export function checkPublicUrl({ mappings, publicUrl }: HooksConfig, findings: Findings): void {
  const needing = publicUrl === undefined ? mappings.find(needsUrl) : undefined;
  if (needing === undefined) return;
  findings.refuse(
    WHERE,
    `is required by ${needing.where}, whose sender signs the URL that it was given: where the outside reaches the gateway; ${EXAMPLE}`,
  );
}

function needsUrl({ auth, handshakes }: MappingConfig): boolean {
  if (auth?.scheme === "signature" && signsUrl(auth)) return true;
  return handshakes.some(({ computed, reply }) => JSON.stringify([computed, reply]).includes("{url}"));
}

/** What an URL holds besides host, port and path, in words; never the thing itself. */
function surplusOf(url: URL, written: string): string | undefined {
  if (url.username !== "" || url.password !== "") return "a user name or password";
  if (written.includes("?")) return "a query";
  return written.includes("#") ? "a fragment" : undefined;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(?:\.\d+){3}$/.test(host);
}
