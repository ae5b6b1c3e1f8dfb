import type { AuthConfig } from "./auth-config.ts";
import { checkAuth, readsSecret } from "./auth-rules.ts";
import type { AuthInput } from "./auth-schema.ts";
import { checkAuthSecrets, readAuthSecrets } from "./auth-secrets.ts";
import type { AuthSources, WrittenAuth } from "./auth-secrets.ts";
import type { ConfiguredPreset } from "./configured-presets.ts";
import type { Findings } from "./findings.ts";
import type { Handshake } from "./handshake-schema.ts";
import type { PresetSettings } from "./hooks-config.ts";
import { normalizeAuth } from "./normalize-auth.ts";
import type { PresetPart } from "./preset-part.ts";

/** What an `auth` belongs to. */
export interface AuthPlace {
  /** `hooks.mappings[0]`, `hooks.github`. */
  readonly where: string;
  /** What a mapping says; nothing where the preset's own block is all there is. */
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
    // What a block says for other mappings may well be of no use to this one.
    if (given.key?.startsWith(`${where}.`)) findings.refuse(given.key, wordUnread(auth));
  } else if (sources === undefined || isDelivered) return auth;
  else if (given.key === undefined) refuseMissing(place, auth, findings);
  else {
    const use = { auth, username: input.username, preset: preset?.part, taken: sources };
    checkAuthSecrets(given.values, use, findings);
  }
  return auth;
}

/** Another scheme begins anew; the same one, or none, is laid over what is there. */
function mergeAuth(base: AuthInput, over: AuthInput | undefined): AuthInput {
  if (over === undefined) return base;
  const isOther = over.scheme !== undefined && over.scheme !== (base.scheme ?? "signature");
  return isOther ? over : { ...base, ...over };
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

/** Tells which secret a preset needs at a place, and where to get it. */
export function refuseMissingSecret({ name, title, secret }: PresetPart, where: string, findings: Findings): void {
  const how = secret?.madeBy === "owner" ? `set it here and in ${title}` : `${title} shows it`;
  findings.refuse(
    `${where}.secret`,
    `is required by the preset ${name}: the "${secret?.label}" of the webhook; ${how} (reveille presets show ${name})`,
  );
}
