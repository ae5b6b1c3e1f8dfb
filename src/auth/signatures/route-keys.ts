import { X509Certificate } from "node:crypto";
import type { CertificateRule, SignatureAuth } from "../../config/auth/schema.ts";
import type { RemoteKeys, SchemeContext, FailedVerification } from "../verifier.ts";
import { compileRequestSource, nameSource, type SignedInput } from "./request-source.ts";
import { type AlgorithmSpec, compileKey, type SignatureKey, wrapPublicKey } from "./algorithm.ts";

const MAX_URL_CHARS = 2_048;
const RETRY_AFTER_SECONDS = 30;
const MAX_REMEMBERED = 16;
const HEX_DIGIT = /[0-9a-f]/;

/**
 * Compiles how a route takes its key from the certificate that a request names: over https, from a host
 * and a path that the configuration names, without user, port, query and fragment; valid at the time of the request.
 */
function compileCertificateKey(
  rule: CertificateRule,
  { route, remoteKeys }: { readonly route: string; readonly remoteKeys: RemoteKeys },
): (
  input: SignedInput,
  spec: AlgorithmSpec,
) => Promise<SignatureKey | FailedVerification> | SignatureKey | FailedVerification {
  const read = compileRequestSource(rule.from);
  const hosts = rule.hosts.map((host) => host.toLowerCase().split("."));
  const isPath = compilePath(rule.path);
  const remembered = new Map<string, Certificate | undefined>();

  const keyOf = (
    pem: string | undefined,
    receivedAt: number,
    spec: AlgorithmSpec,
  ): SignatureKey | FailedVerification => {
    if (pem === undefined)
      return { ...refused("the certificate is not to be had now"), retryAfterSeconds: RETRY_AFTER_SECONDS };
    if (!remembered.has(pem)) {
      if (remembered.size >= MAX_REMEMBERED) remembered.clear();
      remembered.set(pem, readCertificate(pem, route, spec));
    }
    const certificate = remembered.get(pem);
    if (certificate === undefined) return refused("the certificate has no key of the algorithm");
    if (rule.subject !== undefined && certificate.subject !== rule.subject)
      return refused("the certificate is of another subject");
    const isValid = receivedAt >= certificate.validFrom && receivedAt <= certificate.validTo;
    return isValid ? certificate.key : refused("the certificate is not valid at this time");
  };

  return (input, spec) => {
    const text = read(input);
    if (text === undefined) return refused(`${nameSource(rule.from)} is missing`);
    const url = allowedUrl(text, hosts, isPath);
    if (url === undefined) return refused("the certificate's URL is not allowed");
    const { receivedAt, client } = input.call;
    const fetched = remoteKeys.certificate(url, client);
    if (typeof fetched !== "object") return keyOf(fetched, receivedAt, spec);
    return fetched.then(
      (pem) => keyOf(pem, receivedAt, spec),
      () => keyOf(undefined, receivedAt, spec),
    );
  };
}

interface Certificate {
  readonly key: SignatureKey;
  /** Its common name. */
  readonly subject: string | undefined;
  /** Milliseconds since the epoch. */
  readonly validFrom: number;
  readonly validTo: number;
}

function readCertificate(pem: string, route: string, spec: AlgorithmSpec): Certificate | undefined {
  try {
    const { publicKey, subject, validFromDate, validToDate } = new X509Certificate(pem);
    return {
      key: wrapPublicKey(publicKey, route, spec),
      subject: subject
        .split("\n")
        .find((line) => line.startsWith("CN="))
        ?.slice(3),
      validFrom: validFromDate.getTime(),
      validTo: validToDate.getTime(),
    };
  } catch {
    return undefined;
  }
}

/** Compiles a path in which `#` is one hexadecimal digit; without one, every path is right. */
function compilePath(path: string | undefined): (pathname: string) => boolean {
  if (path === undefined) return () => true;
  const chars = path.split("");
  return (pathname) =>
    pathname.length === path.length &&
    chars.every((char, at) => (char === "#" ? HEX_DIGIT.test(pathname[at]!) : char === pathname[at]));
}

function allowedUrl(
  text: string,
  hosts: readonly (readonly string[])[],
  isPath: (pathname: string) => boolean,
): string | undefined {
  const url = text.length <= MAX_URL_CHARS ? URL.parse(text) : null;
  if (url === null || url.protocol !== "https:" || url.port !== "" || url.username !== "" || url.password !== "") {
    return undefined;
  }
  // A query could make the host answer with what someone else wrote.
  if (text.includes("?") || text.includes("#")) return undefined;
  const labels = url.hostname.split(".");
  const isAllowed = hosts.some(
    (host) =>
      host.length === labels.length &&
      host.every((label, at) => label === labels[at] || (label === "*" && labels[at] !== "")),
  );
  return isAllowed && isPath(url.pathname) ? url.href : undefined;
}

function refused(reason: string): FailedVerification {
  return { ok: false, reason };
}

type Keys = readonly SignatureKey[] | FailedVerification;

/**
 * Compiles where the keys of a route come from: its secrets, a key that the sender delivered, or the
 * certificate that a request names. Throws a TypeError when there are none, or one is no key.
 */
export function compileKeys(
  auth: SignatureAuth,
  context: SchemeContext,
  specs: readonly AlgorithmSpec[],
): (input: SignedInput, spec: AlgorithmSpec) => Keys | Promise<Keys> {
  const { route, deliveredKeys } = context;
  const { secrets, certificate, keyEncoding } = auth;
  const spec = specs[0]!;
  if (certificate !== undefined) {
    if (spec.keyType === undefined)
      throw new TypeError("auth.certificate has no use: the algorithm takes a shared secret.");
    const keyOf = compileCertificateKey(certificate, context);
    return (input, spec) => {
      const key = keyOf(input, spec);
      return key instanceof Promise ? key.then(listed) : listed(key);
    };
  }
  const keys = secrets.map((text) => compileKey(text, { route, spec, keyEncoding }));
  if (auth.deliveredKey) {
    let last: { readonly text: string; readonly keys: Keys } | undefined;
    return () => {
      const text = deliveredKeys.get(route);
      if (text === undefined) return keys.length > 0 ? keys : { ok: false, reason: "no key was delivered yet" };
      if (last?.text !== text)
        last = { text, keys: withDelivered(keys, () => compileKey(text, { route, spec, keyEncoding })) };
      return last.keys;
    };
  }
  if (keys.length === 0) throw new TypeError("auth.secret is missing.");
  return () => keys;
}

function listed(key: SignatureKey | FailedVerification): Keys {
  return "ok" in key ? key : [key];
}

function withDelivered(keys: readonly SignatureKey[], compile: () => SignatureKey): Keys {
  try {
    return [...keys, compile()];
  } catch {
    return keys.length > 0 ? keys : { ok: false, reason: "the key that was delivered is no key" };
  }
}
