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
 * can try. On loopback a short one is a finding of {@link "./audit".auditHooks}.
 */
export function readTokens(
  input: SecretInput | undefined,
  sources: SecretSources & { readonly gateway: GatewayFacts },
  findings: Findings,
): string[] {
  if (input === undefined) {
    findings.refuse("hooks.token", "is required when hooks.enabled is true; make one with: openssl rand -hex 24");
    return [];
  }
  const tokens = readSecrets(input, "hooks.token", sources, findings);
  for (const token of tokens) {
    const problem = tokenProblem(token, sources.gateway);
    if (problem !== undefined) findings.refuse(token.path, problem);
  }
  return [...new Set(tokens.map(({ value }) => value))];
}

function tokenProblem({ value }: NamedSecret, gateway: GatewayFacts): string | undefined {
  if (gateway.secrets.some((secret) => secret.trim() === value)) {
    return "is also a secret of the gateway itself; give the hooks a token of their own";
  }
  if (value.includes("${")) return "holds a ${VARIABLE} that was not replaced";
  if (isKnownSecret(value)) {
    return "is the token of a published example; make one with: openssl rand -hex 24";
  }
  if (CONTROL.test(value)) return "holds a line break or another control character, which no header can carry";
  if (value.length > MAX_TOKEN_CHARACTERS) return `has more than ${MAX_TOKEN_CHARACTERS} characters`;
  if (value.length >= MIN_TOKEN_CHARACTERS || gateway.loopbackOnly) return undefined;
  return `has fewer than ${MIN_TOKEN_CHARACTERS} characters, and the gateway does not listen on loopback only; make a longer one with: openssl rand -hex 24`;
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
