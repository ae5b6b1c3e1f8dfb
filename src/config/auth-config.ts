/** How a route's sender proves who it is, after validation: defaults filled in, secrets resolved. */
import type { Algorithm } from "./auth-schema.ts";

export type AuthConfig = (SignatureAuth | SecretAuth | BasicAuth | JwtAuth) & RequiredValues;

/** What a request must hold besides what its scheme verifies. */
export interface RequiredValues {
  /** By source, one of these texts. */
  readonly require?: Readonly<Record<string, readonly string[]>>;
}

/** Bytes of the request are signed. */
export interface SignatureAuth {
  readonly scheme: "signature";
  /** Shared secrets or public keys, in order; any may match. Empty when a certificate or a delivered key stands in. */
  readonly secrets: readonly string[];
  readonly algorithm: Algorithm | { readonly from: string; readonly values: Readonly<Record<string, Algorithm>> };
  readonly keyEncoding: "utf8" | "hex" | "base64" | "whsec" | "pem";
  /** Sources, see `AuthSchema.from`. */
  readonly from: readonly string[];
  readonly prefix: string;
  /** Between several signatures or pairs; `undefined`: there is only one. */
  readonly separator: string | undefined;
  readonly pair: string | undefined;
  readonly encoding: "hex" | "base64" | "base64url";
  /** Text with placeholders, see `AuthSchema.content`. */
  readonly content: string;
  readonly id: string | undefined;
  readonly timestamp: TimestampRule | undefined;
  readonly bodyDigest:
    | { readonly from: string; readonly algorithm: "sha256"; readonly encoding: "hex" | "base64" }
    | undefined;
  readonly anyPort: boolean;
  readonly certificate: CertificateRule | undefined;
  /** `undefined`: as long as the timestamp is good, or a day without one; 0: never remembered. */
  readonly replaySeconds: number | undefined;
  /** True: the key comes from the sender in a handshake and is kept in the state directory. */
  readonly deliveredKey: boolean;
}

export interface TimestampRule {
  readonly from: string;
  readonly unit: "seconds" | "milliseconds" | "iso8601";
  readonly toleranceSeconds: number;
  readonly futureSeconds: number;
}

export interface CertificateRule {
  readonly from: string;
  readonly hosts: readonly string[];
  readonly subject: string | undefined;
}

/** The request carries the secret as it is. */
export interface SecretAuth {
  readonly scheme: "secret";
  readonly secrets: readonly string[];
  /** A source with `[]` names several values, all of which must be right. */
  readonly from: readonly string[];
  readonly prefix: string;
}

/** `Authorization: Basic`. */
export interface BasicAuth {
  readonly scheme: "basic";
  /** `user:password` each. */
  readonly secrets: readonly string[];
}

/** A JSON Web Token of an identity provider. */
export interface JwtAuth {
  readonly scheme: "jwt";
  readonly from: readonly string[];
  readonly prefix: string;
  readonly jwksUrl: string;
  readonly issuer: readonly string[];
  readonly audience: string;
  readonly claims: Readonly<Record<string, string | boolean>>;
}
