import type { Findings } from "../errors.ts";
import type { Handshake } from "../handshake.ts";
import type { PresetSettings } from "../mapping/schema.ts";
import type { ConfiguredPreset } from "../preset-settings.ts";
import type { PresetPart } from "../preset.ts";
import { checkAuth, readsSecret } from "./rules.ts";
import type { AuthConfig, AuthInput, BodyDigest } from "./schema.ts";
import { type AuthSources, checkAuthSecrets, readAuthSecrets, type WrittenAuth } from "./secrets.ts";

const TOLERANCE_SECONDS = 300;

/**
 * Fills in what an `auth` leaves out; `secrets` are its secrets, resolved. `undefined` means the
 * hook token. {@link checkAuth} refuses what is missing.
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
    case "jwt": {
      const { issuer = [], audience = "", claims = {}, algorithm } = input;
      const token = { scheme: "jwt", ...carrierOf(from, input.prefix), issuer, audience, claims } as const;
      if (algorithm === undefined) return { ...token, jwksUrl: input.jwksUrl ?? "" };
      return { ...token, secrets, algorithm, bodyDigest: bodyDigestOf(input) };
    }
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
        each: input.each,
        id: input.id,
        timestamp: timestamp && {
          from: timestamp.from ?? "",
          unit: timestamp.unit ?? "seconds",
          toleranceSeconds: timestamp.toleranceSeconds ?? TOLERANCE_SECONDS,
          futureSeconds: timestamp.futureSeconds ?? timestamp.toleranceSeconds ?? TOLERANCE_SECONDS,
        },
        bodyDigest: bodyDigestOf(input),
        anyPort: input.anyPort ?? false,
        certificate: certificate && {
          from: certificate.from ?? "",
          hosts: certificate.hosts ?? [],
          path: certificate.path,
          subject: certificate.subject,
        },
        replaySeconds: input.replaySeconds,
        deliveredKey: options.deliveredKey ?? false,
      };
  }
}

function bodyDigestOf({ bodyDigest }: AuthInput): BodyDigest | undefined {
  if (bodyDigest === undefined) return undefined;
  const { from = "", algorithm = "sha256", encoding = "hex" } = bodyDigest;
  return { from, algorithm, encoding };
}

/** The default place of a secret or token is the `Authorization` header. */
function carrierOf(from: readonly string[], prefix: string | undefined): { from: readonly string[]; prefix: string } {
  if (from.length === 0) return { from: ["header:authorization"], prefix: prefix ?? "Bearer " };
  return { from, prefix: prefix ?? "" };
}

/** The mapping or block that an `auth` belongs to. */
export interface AuthPlace {
  /** `hooks.mappings[0]`, `hooks.github`. */
  readonly where: string;
  /** The keys of the mapping; empty for the mapping of an enabled preset. */
  readonly written: WrittenAuth;
  readonly preset: ConfiguredPreset | undefined;
  /** Of the preset, for this mapping. */
  readonly settings: PresetSettings;
  readonly handshakes: readonly Handshake[];
}

/**
 * Reads how the sender of a mapping proves who it is: what its preset says, over that `hooks.<preset>.auth`,
 * over that its own `auth`. `undefined` for the hook token.
 */
export function readAuth(place: AuthPlace, sources: AuthSources, findings: Findings): AuthConfig | undefined {
  const { where, written, preset, settings, handshakes } = place;
  const own = readAuthSecrets(written, where, sources, findings);
  if (preset === undefined && written.auth === undefined && own.key === undefined) return undefined;
  const base = preset ? mergeAuth(preset.part.auth(settings), preset.block.auth) : {};
  const { secret: _, ...input } = mergeAuth(base, written.auth);
  const given = preset === undefined || own.key !== undefined ? own : preset.secrets;
  const isDelivered = given.key === undefined && handshakes.some(({ effect }) => effect?.keyFrom !== undefined);
  const values = [...new Set(given.values.map(({ value }) => value))];
  const auth = normalizeAuth(input, values, { deliveredKey: isDelivered });

  checkAuth(input, { auth, where: `${where}.auth` }, findings);
  if (!readsSecret(auth)) {
    // A block may hold a secret that only other mappings read.
    if (given.key?.startsWith(`${where}.`)) findings.refuse(given.key, wordUnread(auth));
  } else if (sources === undefined || isDelivered) return auth;
  else if (given.key === undefined) refuseMissing(place, auth, findings);
  else {
    const use = { auth, username: input.username, preset: preset?.part, taken: sources };
    checkAuthSecrets(given.values, use, findings);
  }
  return auth;
}

/** Another scheme replaces `base`; the same scheme, or none, is merged into it key by key, also one level down. */
function mergeAuth(base: AuthInput, over: AuthInput | undefined): AuthInput {
  if (over === undefined) return base;
  const isOther = over.scheme !== undefined && over.scheme !== (base.scheme ?? "signature");
  if (isOther) return over;
  return {
    ...base,
    ...over,
    ...mergeKey("timestamp", base, over),
    ...mergeKey("certificate", base, over),
    ...mergeKey("bodyDigest", base, over),
  };
}

/** One object of an `auth`, merged key by key; empty when neither has it. */
function mergeKey<Key extends "timestamp" | "certificate" | "bodyDigest">(
  key: Key,
  base: AuthInput,
  over: AuthInput,
): Pick<AuthInput, Key> {
  const merged = base[key] || over[key] ? { [key]: { ...base[key], ...over[key] } } : {};
  return merged as Pick<AuthInput, Key>;
}

function wordUnread(auth: AuthConfig | undefined): string {
  if (auth?.scheme === "signature") return "has no effect: the key is the certificate's; leave it out";
  return `has no effect with the scheme ${auth?.scheme ?? "token"}; leave it out`;
}

function refuseMissing({ where, preset, written }: AuthPlace, { scheme }: AuthConfig, findings: Findings): void {
  if (preset?.part.secret !== undefined) refuseMissingSecret(preset.part, where, findings);
  else {
    const key = written.auth === undefined ? "secret" : "auth.secret";
    findings.refuse(`${where}.${key}`, `is required by the scheme ${scheme}: what the sender and this gateway share`);
  }
}

/** Refuses a place without the secret that its preset needs, and says where to get it. */
export function refuseMissingSecret({ name, title, secret }: PresetPart, where: string, findings: Findings): void {
  const how = secret?.madeBy === "owner" ? `set it here and in ${title}` : `${title} shows it`;
  findings.refuse(
    `${where}.secret`,
    `is required by the preset ${name}: the "${secret?.label}" of the webhook; ${how} (reveille presets show ${name})`,
  );
}
