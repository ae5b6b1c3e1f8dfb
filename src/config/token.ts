import type { GatewayFacts } from "../core/host.ts";
import type { Findings } from "./errors.ts";
import { text, withDefault } from "./schema-parts.ts";
import { showValue } from "./show-value.ts";
import { isKnownSecret, type SecretInput, readSecrets, type NamedSecret, type SecretSources } from "./secrets.ts";

/** `hooks.tokenHeader`. */
export const TOKEN_HEADER = withDefault(
  text({
    description: "The header that may carry the token besides `Authorization: Bearer` and `X-OpenClaw-Token`.",
    title: "the name of a header",
    maxLength: 100,
    pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
  }),
  "x-service-token",
);

/** Characters under which a token can be guessed. */
export const MIN_TOKEN_CHARACTERS = 24;
/** A token travels in a header, and a longer "token" is likely the wrong file. */
const MAX_TOKEN_CHARACTERS = 1_024;
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/**
 * Resolves the hook tokens and refuses those that cannot protect anything: a secret of the gateway
 * itself (specification 5.6), one of some example, one too short to resist guessing where strangers
 * can try: on more than loopback, behind a proxy, at a public URL. Elsewhere a short one is a finding of {@link "./audit".auditHooks}.
 */
export function readTokens(
  input: SecretInput | undefined,
  sources: SecretSources & { readonly gateway: GatewayFacts; readonly publicUrl: string | undefined },
  findings: Findings,
): string[] {
  if (input === undefined) {
    findings.refuse("hooks.token", "is required when hooks.enabled is true; make one with: openssl rand -hex 24");
    return [];
  }
  const tokens = readSecrets(input, "hooks.token", sources, findings);
  for (const token of tokens) {
    const problem = tokenProblem(token, sources);
    if (problem !== undefined) findings.refuse(token.path, problem);
  }
  return [...new Set(tokens.map(({ value }) => value))];
}

function tokenProblem(
  { value }: NamedSecret,
  { gateway, publicUrl }: { readonly gateway: GatewayFacts; readonly publicUrl: string | undefined },
): string | undefined {
  if (gateway.secrets.some((secret) => secret.trim() === value)) {
    return "is also a secret of the gateway itself; give the hooks a token of their own";
  }
  if (value.includes("${")) return "holds a ${VARIABLE} that was not replaced";
  if (isKnownSecret(value)) {
    return "is the token of a published example; make one with: openssl rand -hex 24";
  }
  if (CONTROL.test(value)) return "holds a line break or another control character, which no header can carry";
  if (value.length > MAX_TOKEN_CHARACTERS) return `has more than ${MAX_TOKEN_CHARACTERS} characters`;
  const why = value.length < MIN_TOKEN_CHARACTERS ? reachedFromOutside(gateway, publicUrl) : undefined;
  if (why === undefined) return undefined;
  return `has fewer than ${MIN_TOKEN_CHARACTERS} characters, and ${why}; make a longer one with: openssl rand -hex 24`;
}

/** The sign that strangers reach the gateway, also one that listens on loopback behind a proxy. */
function reachedFromOutside({ loopbackOnly, trustedProxies }: GatewayFacts, publicUrl?: string): string | undefined {
  if (!loopbackOnly) return "more than this machine reaches the gateway";
  if (trustedProxies.length > 0) return "gateway.trustedProxies names a proxy, which strangers reach";
  return publicUrl === undefined ? undefined : "hooks.publicUrl names an address that strangers reach";
}

/** Headers with another meaning to a server, a proxy or this ingress. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  "authorization",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "cookie",
  "expect",
  "forwarded",
  "host",
  "idempotency-key",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "x-forwarded-for",
  "x-openclaw-idempotency-key",
  "x-service-idempotency-key",
]);

/** The second header of the token, in lower case. */
export function readTokenHeader(written: string | undefined, findings: Findings): string {
  const name = (written ?? TOKEN_HEADER.default).toLowerCase();
  if (RESERVED_HEADERS.has(name)) {
    findings.refuse("hooks.tokenHeader", `${showValue(name)} has a meaning of its own; choose another header`);
  }
  return name;
}
