import type { AuthConfig } from "./auth-config.ts";
import type { AuthInput } from "./auth-schema.ts";

const TOLERANCE_SECONDS = 300;

/**
 * Fills in what an `auth` leaves out; `secrets` are its secrets, resolved. `undefined` stands for the
 * hook token. What is missing for good is for {@link "./auth-rules".checkAuth} to refuse.
 */
export function normalizeAuth(
  input: AuthInput,
  secrets: readonly string[],
  options: { readonly deliveredKey?: boolean } = {},
): AuthConfig | undefined {
  const auth = normalizeScheme(input, secrets, options);
  if (auth === undefined || input.require === undefined) return auth;
  const entries = Object.entries(input.require).map(([source, values]) => [source, [values].flat()] as const);
  return { ...auth, require: Object.fromEntries(entries) };
}

function normalizeScheme(
  input: AuthInput,
  secrets: readonly string[],
  options: { readonly deliveredKey?: boolean },
): AuthConfig | undefined {
  const { timestamp, certificate } = input;
  const from = input.from === undefined ? [] : [input.from].flat();
  switch (input.scheme) {
    case "token":
      return undefined;
    case "secret":
      return { scheme: "secret", secrets, ...carrierOf(from, input.prefix) };
    case "basic":
      return {
        scheme: "basic",
        secrets: input.username === undefined ? secrets : secrets.map((secret) => `${input.username}:${secret}`),
      };
    case "jwt":
      return {
        scheme: "jwt",
        ...carrierOf(from, input.prefix),
        jwksUrl: input.jwksUrl ?? "",
        issuer: input.issuer ?? [],
        audience: input.audience ?? "",
        claims: input.claims ?? {},
      };
    default:
      return {
        scheme: "signature",
        secrets,
        algorithm: input.algorithm ?? "hmac-sha256",
        keyEncoding: input.keyEncoding ?? "utf8",
        from,
        prefix: input.prefix ?? "",
        separator: input.separator ?? (input.pair === undefined ? undefined : ","),
        pair: input.pair,
        encoding: input.encoding ?? "hex",
        content: input.content ?? "{body}",
        id: input.id,
        timestamp: timestamp && {
          from: timestamp.from,
          unit: timestamp.unit ?? "seconds",
          toleranceSeconds: timestamp.toleranceSeconds ?? TOLERANCE_SECONDS,
          futureSeconds: timestamp.futureSeconds ?? timestamp.toleranceSeconds ?? TOLERANCE_SECONDS,
        },
        bodyDigest: input.bodyDigest,
        anyPort: input.anyPort ?? false,
        certificate: certificate && { ...certificate, subject: certificate.subject },
        replaySeconds: input.replaySeconds,
        deliveredKey: options.deliveredKey ?? false,
      };
  }
}

/** Without a place of its own a secret or token stands where HTTP has it. */
function carrierOf(from: readonly string[], prefix: string | undefined): { from: readonly string[]; prefix: string } {
  if (from.length === 0) return { from: ["header:authorization"], prefix: prefix ?? "Bearer " };
  return { from, prefix: prefix ?? "" };
}
