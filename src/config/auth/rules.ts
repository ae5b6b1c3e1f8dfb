import type { AuthConfig, AuthInput, JwtAuth, SharedJwtAuth, SignatureAuth } from "./schema.ts";
import { checkContent } from "./content.ts";
import type { Findings } from "../errors.ts";
import { algorithmsOf, isPublicKeyAlgorithm, keyEncodingsFor, TOKEN_ALGORITHMS } from "./secrets.ts";
import { showValue } from "../show-value.ts";

type Scheme = AuthConfig["scheme"] | "token";

/** The keys that each scheme reads. */
const KEYS: Readonly<Record<Scheme, ReadonlySet<keyof AuthInput>>> = {
  token: new Set(["scheme"]),
  signature: new Set([
    "scheme",
    "secret",
    "from",
    "prefix",
    "separator",
    "pair",
    "encoding",
    "algorithm",
    "keyEncoding",
    "content",
    "each",
    "id",
    "timestamp",
    "bodyDigest",
    "anyPort",
    "certificate",
    "replaySeconds",
    "require",
  ]),
  secret: new Set(["scheme", "secret", "from", "prefix", "require"]),
  basic: new Set(["scheme", "secret", "username", "require"]),
  jwt: new Set(["scheme", "from", "prefix", "jwksUrl", "issuer", "audience", "claims", "require"]),
};

/** Those of `jwt` when an algorithm says that the token is signed with a shared secret. */
const SHARED_JWT_KEYS: ReadonlySet<keyof AuthInput> = new Set([
  "scheme",
  "secret",
  "algorithm",
  "from",
  "prefix",
  "issuer",
  "audience",
  "claims",
  "bodyDigest",
  "require",
]);

/** True when requests are verified with secrets of the configuration. */
export function readsSecret(auth: AuthConfig | undefined): auth is AuthConfig {
  if (auth === undefined || !("secrets" in auth)) return false;
  return auth.scheme !== "signature" || auth.certificate === undefined;
}

/**
 * Judges an `auth` by itself, its secrets aside: what its scheme needs must be there, what it does not read
 * must not. `input` is the `auth` as written, laid over that of its preset; `auth` is its outcome,
 * `undefined` for the hook token; `where` is its key.
 */
export function checkAuth(
  input: AuthInput,
  { auth, where }: { readonly auth: AuthConfig | undefined; readonly where: string },
  findings: Findings,
): void {
  const scheme = auth?.scheme ?? "token";
  const known = auth?.scheme === "jwt" && "secrets" in auth ? SHARED_JWT_KEYS : KEYS[scheme];
  for (const key of Object.keys(input) as (keyof AuthInput)[]) {
    if (input[key] === undefined || known.has(key)) continue;
    findings.refuse(`${where}.${key}`, `has no effect with the scheme ${scheme}; leave it out`);
  }
  if (auth === undefined) return;
  if (auth.scheme === "signature") checkSignature(input, auth, where, findings);
  else if (auth.scheme === "jwt" && "secrets" in auth) checkSharedJwt(auth, where, findings);
  else if (auth.scheme === "jwt") checkJwt(auth, where, findings);
  else if (input.username?.includes(":")) {
    findings.refuse(`${where}.username`, 'must not hold ":", which ends the user name');
  }
  if ("from" in auth) checkCarriers(auth, where, findings);
  for (const source of Object.keys(auth.require ?? {})) {
    if (/^(?:header|query|body):./.test(source)) continue;
    findings.refuse(`${where}.require`, `${showValue(source)} is no place in a request, such as "body:topic"`);
  }
}

/** Refuses objects without a key that they need; false when it refuses one. */
function checkComplete(
  { timestamp, certificate, bodyDigest }: SignatureAuth,
  where: string,
  findings: Findings,
): boolean {
  const missing = [
    timestamp?.from === "" && "timestamp.from",
    certificate?.from === "" && "certificate.from",
    certificate?.hosts.length === 0 && "certificate.hosts",
    bodyDigest?.from === "" && "bodyDigest.from",
  ].filter((key) => typeof key === "string");
  for (const key of missing) findings.refuse(`${where}.${key}`, "is required");
  return missing.length === 0;
}

function checkSignature(input: AuthInput, auth: SignatureAuth, where: string, findings: Findings): void {
  if (auth.from.length === 0) {
    findings.refuse(
      `${where}.from`,
      'is required by the scheme signature: where the signature stands, for example "header:x-signature"',
    );
  }
  const algorithms = algorithmsOf(auth.algorithm);
  if (algorithms.length === 0) findings.refuse(`${where}.algorithm.values`, "is empty");
  const isPublic = algorithms.some(isPublicKeyAlgorithm);
  if (isPublic && !algorithms.every(isPublicKeyAlgorithm)) {
    findings.refuse(`${where}.algorithm.values`, "mixes algorithms with a public key and such with a shared secret");
  }
  if (auth.certificate === undefined) checkKeyEncoding(auth, where, findings);
  else if (input.keyEncoding !== undefined && input.keyEncoding !== "pem") {
    findings.refuse(`${where}.keyEncoding`, "has no effect: the key is the certificate's; leave it out");
  }
  if (
    auth.certificate !== undefined &&
    !algorithms.every((name) => name.startsWith("rsa") || name.startsWith("ecdsa"))
  ) {
    findings.refuse(`${where}.algorithm`, "must be an RSA or ECDSA one, since the key is in a certificate");
  }
  for (const key of ["separator", "pair"] as const) {
    if (input[key] === "") findings.refuse(`${where}.${key}`, "is empty");
  }
  if (checkComplete(auth, where, findings)) checkContent(input, auth, where, findings);
}

function checkKeyEncoding({ algorithm, keyEncoding }: SignatureAuth, where: string, findings: Findings): void {
  for (const name of new Set(algorithmsOf(algorithm))) {
    const allowed = keyEncodingsFor(name, keyEncoding);
    if (allowed === undefined) continue;
    findings.refuse(`${where}.keyEncoding`, `must be ${allowed} with the algorithm ${name}`);
    return;
  }
}

function checkJwt({ jwksUrl, issuer, audience }: JwtAuth, where: string, findings: Findings): void {
  const url = URL.parse(jwksUrl);
  if (jwksUrl === "") {
    findings.refuse(`${where}.jwksUrl`, "is required by the scheme jwt: where the identity provider has its keys");
  } else if (url?.protocol !== "https:" || url.username !== "" || url.password !== "") {
    findings.refuse(`${where}.jwksUrl`, "must be an https URL without a user name");
  }
  if (issuer.length === 0 || issuer.includes("")) {
    findings.refuse(`${where}.issuer`, "is required by the scheme jwt: who issues the tokens");
  }
  if (audience === "") {
    findings.refuse(
      `${where}.audience`,
      "is required by the scheme jwt: whom the tokens must be issued for, or a token for anyone would do",
    );
  }
}

function checkSharedJwt({ algorithm, issuer, bodyDigest }: SharedJwtAuth, where: string, findings: Findings): void {
  if (!TOKEN_ALGORITHMS.has(algorithm)) {
    findings.refuse(`${where}.algorithm`, `must be ${[...TOKEN_ALGORITHMS.keys()].join(" or ")} with the scheme jwt`);
  }
  if (issuer.includes("")) findings.refuse(`${where}.issuer`, "is empty");
  if (bodyDigest !== undefined && !bodyDigest.from.startsWith("claim:")) {
    findings.refuse(`${where}.bodyDigest.from`, 'must be a claim of the token, such as "claim:sha256"');
  }
}

/** `pair:` and `path` mean something in few places only. */
function checkCarriers(
  { scheme, from }: { readonly scheme: Scheme; readonly from: readonly string[] },
  where: string,
  findings: Findings,
): void {
  for (const source of from) {
    if (source.startsWith("pair:")) {
      findings.refuse(`${where}.from`, 'names the header, for example "header:x-signature"; its key goes into pair');
    } else if (source === "path" && scheme !== "secret") {
      findings.refuse(`${where}.from`, "can be path with the scheme secret only");
    } else if (source === "query:token") {
      findings.refuse(`${where}.from`, "never arrives: calls with ?token= are refused; give it another name");
    } else if (source.includes("[]") && scheme !== "secret") {
      findings.refuse(`${where}.from`, "can hold [] with the scheme secret only");
    }
  }
}
