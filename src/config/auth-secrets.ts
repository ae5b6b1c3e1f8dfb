import type { AuthConfig } from "./auth-config.ts";
import type { AuthInput } from "./auth-schema.ts";
import type { Findings } from "./findings.ts";
import { algorithmsOf, isPublicKeyAlgorithm, keyProblem } from "./key-problem.ts";
import type { PresetPart } from "./preset-part.ts";
import type { SecretInput } from "./schema.ts";
import { secretProblem } from "./secret-rules.ts";
import type { TakenSecrets } from "./secret-rules.ts";
import { readSecrets } from "./secrets.ts";
import type { NamedSecret, SecretSources } from "./secrets.ts";

/** What says how a sender proves who it is, in a mapping or in `hooks.<preset>`. */
export interface WrittenAuth {
  readonly auth?: AuthInput;
  /** Short for `auth.secret`. */
  readonly secret?: SecretInput;
}

/** Where secrets are looked up and what they must not be; `undefined` while hooks are off. */
export type AuthSources = (SecretSources & TakenSecrets) | undefined;

/** The secrets of one place. */
export interface ResolvedSecrets {
  /** The key that holds them, be they such that cannot be resolved; `undefined`: none. */
  readonly key: string | undefined;
  readonly values: readonly NamedSecret[];
}

/** Looks up the secrets of a place; they stand in its `secret` or its `auth.secret`. */
export function readAuthSecrets(
  { auth, secret }: WrittenAuth,
  where: string,
  sources: AuthSources,
  findings: Findings,
): ResolvedSecrets {
  if (secret !== undefined && auth?.secret !== undefined) {
    findings.refuse(`${where}.secret`, "is there twice, here and as auth.secret; leave one of them out");
  }
  const input = secret ?? auth?.secret;
  if (input === undefined) return { key: undefined, values: [] };
  const key = `${where}.${secret === undefined ? "auth.secret" : "secret"}`;
  return { key, values: sources === undefined ? [] : readSecrets(input, key, sources, findings) };
}

/** What the secrets of an `auth` are judged by. */
export interface SecretUse {
  readonly auth: AuthConfig;
  /** User name of `basic` when the secret is the password alone. */
  readonly username: string | undefined;
  readonly preset: PresetPart | undefined;
  readonly taken: TakenSecrets;
}

/** Refuses secrets that cannot prove anything: known to everybody, in use elsewhere, short, or no key at all. */
export function checkAuthSecrets(secrets: readonly NamedSecret[], use: SecretUse, findings: Findings): void {
  for (const { path, value } of secrets) {
    const problem = secretProblem(value, use.taken, use.preset?.secret?.known) ?? unusable(value, use);
    // The secret of a preset is judged again for each mapping that uses it.
    if (problem === undefined || findings.issues.some((issue) => issue.path === path)) continue;
    findings.refuse(path, problem);
  }
}

const MIN_SECRET_CHARACTERS = 16;
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;

function unusable(value: string, { auth, username, preset }: SecretUse): string | undefined {
  if (auth.scheme === "signature") {
    const problem = keyProblem(value, auth);
    if (problem !== undefined || algorithmsOf(auth.algorithm).some(isPublicKeyAlgorithm)) return problem;
    return tooShort(value, preset);
  }
  if (CONTROL.test(value)) return "holds a line break or another control character, which no sender can send";
  if (auth.scheme === "secret" && auth.from.includes("path") && !/^[\w.~-]+$/.test(value)) {
    return 'holds characters that a path carries only in escapes; use letters, digits, "-" and "_"';
  }
  if (auth.scheme !== "basic" || username !== undefined) return tooShort(value, preset);
  const colon = value.indexOf(":");
  if (colon === -1) return 'must be "<user>:<password>", unless auth.username is set';
  return tooShort(value.slice(colon + 1), preset);
}

function tooShort(value: string, preset: PresetPart | undefined): string | undefined {
  const minLength = preset?.secret?.minLength ?? MIN_SECRET_CHARACTERS;
  if (value.length >= minLength) return undefined;
  const isShown = preset?.secret?.madeBy === "sender";
  const how = isShown ? `copy it whole from ${preset?.title}` : "make a longer one with: openssl rand -hex 24";
  return `has fewer than ${minLength} characters; ${how}`;
}
