/** Certificates for tests (RFC 5280), made here so that tests need no openssl. */
import tls from "node:tls";
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";

export interface MadeCertificate {
  readonly pem: string;
  readonly privateKey: KeyObject;
  readonly commonName: string;
}

export interface CertificateOptions {
  readonly commonName: string;
  /** DNS names that it is good for. */
  readonly hosts?: readonly string[];
  /** Who signs it; absent: an authority that signs itself. */
  readonly issuer?: MadeCertificate;
}

export interface RsaCertificate {
  readonly pem: string;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
  /** The private key in PKCS #8 as PEM. */
  readonly key: string;
}

const SHA256_WITH_RSA = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b];
const ECDSA_WITH_SHA256 = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const COUNTRY = [0x55, 0x04, 0x06];
const COMMON_NAME = [0x55, 0x04, 0x03];
const ALTERNATIVE_NAMES = [0x55, 0x1d, 0x11];
const BASIC_CONSTRAINTS = [0x55, 0x1d, 0x13];

let serial = 1;

/** Makes an ECDSA P-256 certificate that is good from 2020 to 2049. */
export function makeCertificate({ commonName, hosts = [], issuer }: CertificateOptions): MadeCertificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const extensions = [
    issuer === undefined
      ? sequence(objectId(BASIC_CONSTRAINTS), der(0x01, [0xff]), octets(sequence(der(0x01, [0xff]))))
      : sequence(objectId(ALTERNATIVE_NAMES), octets(sequence(...hosts.map((host) => der(0x82, Buffer.from(host)))))),
  ];
  const pem = signed({
    algorithm: sequence(objectId(ECDSA_WITH_SHA256)),
    issuer: nameOf(issuer?.commonName ?? commonName),
    validity: validityOf(),
    subject: nameOf(commonName),
    publicKey,
    more: [der(0xa3, sequence(...extensions))],
    by: issuer?.privateKey ?? privateKey,
  });
  return { pem, privateKey, commonName };
}

/** Makes a certificate with an RSA key that signs itself; times are `YYMMDDhhmmssZ`. Absent: good from 2020 to 2049. */
export function makeRsaCertificate(options: {
  readonly commonName: string;
  readonly bits?: number;
  readonly validFrom?: string;
  readonly validTo?: string;
  /** The private key as PEM; absent: a new one. */
  readonly key?: string;
}): RsaCertificate {
  const { commonName, bits = 2_048, validFrom, validTo, key } = options;
  const privateKey =
    key === undefined ? generateKeyPairSync("rsa", { modulusLength: bits }).privateKey : createPrivateKey(key);
  const publicKey = createPublicKey(privateKey);
  const country = der(0x31, sequence(objectId(COUNTRY), der(0x13, Buffer.from("US"))));
  const name = nameOf(commonName, country);
  const pem = signed({
    algorithm: sequence(objectId(SHA256_WITH_RSA), der(0x05, [])),
    issuer: name,
    validity: validityOf(validFrom, validTo),
    subject: name,
    publicKey,
    by: privateKey,
  });
  return { pem, publicKey, privateKey, key: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
}

interface Content {
  readonly algorithm: Buffer;
  readonly issuer: Buffer;
  readonly validity: Buffer;
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  readonly more?: readonly Buffer[];
  /** Who signs it. */
  readonly by: KeyObject;
}

function signed({ algorithm, issuer, validity, subject, publicKey, more = [], by }: Content): string {
  const key = publicKey.export({ type: "spki", format: "der" });
  const version = der(0xa0, integer(2));
  const content = sequence(version, integer(serial++), algorithm, issuer, validity, subject, key, ...more);
  const signature = der(0x03, Buffer.concat([Buffer.of(0), sign("sha256", content, by)]));
  const lines = sequence(content, algorithm, signature)
    .toString("base64")
    .match(/.{1,64}/g)!;
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

function validityOf(from = "200101000000Z", to = "491231235959Z"): Buffer {
  return sequence(der(0x17, Buffer.from(from)), der(0x17, Buffer.from(to)));
}

function nameOf(commonName: string, ...before: readonly Buffer[]): Buffer {
  return sequence(...before, der(0x31, sequence(objectId(COMMON_NAME), der(0x0c, Buffer.from(commonName)))));
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function octets(content: Uint8Array): Buffer {
  return der(0x04, content);
}

function objectId(bytes: readonly number[]): Buffer {
  return der(0x06, bytes);
}

function integer(value: number): Buffer {
  return der(0x02, [value]);
}

function der(tag: number, content: Uint8Array | readonly number[]): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), Buffer.from(content)]);
}

/** Makes this process trust an authority beside those of Node; returns what undoes it. */
export function trustAuthority(pem: string): () => void {
  const before = tls.getCACertificates("default");
  tls.setDefaultCACertificates([...before, pem]);
  return () => tls.setDefaultCACertificates(before);
}
