import Type, { type Static } from "typebox";
import { seconds, secrets, text } from "../schema-parts.ts";
import { BodyDigestSchema, CertificateSchema, source, SOURCE_TITLE, TimestampSchema } from "./places.ts";

const ALGORITHMS = [
  "hmac-sha1",
  "hmac-sha256",
  "hmac-sha512",
  "ed25519",
  "rsa-sha1",
  "rsa-sha256",
  "ecdsa-sha256",
  "sha1",
  "sha256",
] as const;

const AlgorithmSchema = Type.Enum([...ALGORITHMS], {
  description:
    "Algorithm of the signature. `sha1` and `sha256` are plain digests of a content that holds `{secret}`; `rsa-sha1` is for AWS SNS only.",
});

/** The `auth` of a mapping: how its sender proves who it is, as data. Presets are written in the same words. */
export const AuthSchema = Type.Object(
  {
    scheme: Type.Optional(
      Type.Enum(["token", "signature", "secret", "basic", "jwt"], {
        description:
          "`token`: the hook token. `signature`: the request is signed. `secret`: it carries the secret itself. `basic`: user name and password. `jwt`: a token of an identity provider, or with `algorithm` one that is signed with the secret. Absent: `signature`.",
      }),
    ),
    secret: Type.Optional(
      secrets("The secret shared with the sender, or its public key; of a list any is accepted (rotation)."),
    ),
    from: Type.Optional(
      Type.Union([source(""), Type.Array(source(""), { minItems: 1, maxItems: 16 })], {
        title: `${SOURCE_TITLE}, or a list of those`,
        description:
          "Place of the signature, secret or token; of a list any may hold it. `path`: the last segment of the path, for the scheme `secret`. Absent, with `secret` and `jwt`: `Authorization: Bearer`.",
      }),
    ),
    prefix: Type.Optional(text({ description: "Text before it, such as `sha256=`.", maxLength: 64 })),
    separator: Type.Optional(
      text({ description: "Text between several signatures, or between the pairs of `pair`.", maxLength: 8 }),
    ),
    pair: Type.Optional(
      text({
        description: "The header is a list of `key=value`; signatures are the values of this key.",
        maxLength: 64,
      }),
    ),
    encoding: Type.Optional(
      Type.Enum(["hex", "base64", "base64url"], {
        description: "Encoding of a signature. The case of hex does not count. Absent: `hex`.",
      }),
    ),
    algorithm: Type.Optional(
      Type.Union(
        [
          AlgorithmSchema,
          Type.Object(
            {
              from: source("Place of its name."),
              values: Type.Record(Type.String(), AlgorithmSchema),
            },
            { additionalProperties: false },
          ),
        ],
        {
          title: `one of ${ALGORITHMS.join(", ")}, or where the request names it`,
          description:
            "Algorithm of the signature; or `{ from, values }`: the place where the request names it, and the algorithm of each name. With the scheme `jwt`: that of a token which is signed with `secret`. Absent: `hmac-sha256`.",
        },
      ),
    ),
    keyEncoding: Type.Optional(
      Type.Enum(["utf8", "hex", "base64", "whsec", "pem"], {
        description:
          "Encoding of the key in `secret`. `whsec`: base64 after `whsec_` (or `whpk_`). `pem`: PEM, or the base64 between its lines. Absent: `utf8`.",
      }),
    ),
    content: Type.Optional(
      text({
        description:
          "The signed content: text with `{body}`, `{timestamp}`, `{id}`, `{method}`, `{url}`, `{decodedUrl}`, `{path}`, `{form}` (sorted form fields), `{sns}`, `{crc32}`, `{sha256}`, `{secret}`, `{header:<name>}`, `{query:<name>}`, `{pair:<key>}`, `{body:<path>}`. A place that may be missing ends in `?`: `{body:note?}`. Absent: `{body}`.",
        title: "a text with placeholders",
        maxLength: 1_024,
      }),
    ),
    each: Type.Optional(
      text({
        description:
          "Name of a list at the top of the body whose items are signed one by one (up to 16): `body:` places, also those of the signature, are then read from the item, and every item must be signed.",
        pattern: "^[\\w-]+$",
        maxLength: 64,
      }),
    ),
    id: Type.Optional(source("Place of the `{id}` of the content.")),
    timestamp: Type.Optional(TimestampSchema),
    bodyDigest: Type.Optional(BodyDigestSchema),
    anyPort: Type.Optional(
      Type.Boolean({ description: "Accepts a `{url}` with and without the default port of its protocol." }),
    ),
    certificate: Type.Optional(CertificateSchema),
    username: Type.Optional(text({ description: "User name of `basic`; `secret` is then the password alone." })),
    jwksUrl: Type.Optional(
      text({ description: "URL of the identity provider's keys, over https.", title: "an https URL" }),
    ),
    issuer: Type.Optional(
      Type.Array(text({ description: "" }), { minItems: 1, maxItems: 16, description: "Who may have issued it." }),
    ),
    audience: Type.Optional(text({ description: "Whom it must be issued for." })),
    claims: Type.Optional(
      Type.Record(Type.String(), Type.Union([Type.String(), Type.Boolean()]), {
        description: "Further claims that the token must hold.",
      }),
    ),
    require: Type.Optional(
      Type.Record(
        Type.String({ maxLength: 200 }),
        Type.Union(
          [
            Type.String({ maxLength: 1_024 }),
            Type.Array(Type.String({ maxLength: 1_024 }), { minItems: 1, maxItems: 1_000 }),
          ],
          {
            title: "a text, or a list of those",
          },
        ),
        {
          description:
            "Values that a verified request must hold, by place (`body:TopicArn`): one of these texts. For schemes whose signature also covers other customers of the sender.",
        },
      ),
    ),
    replaySeconds: Type.Optional(
      seconds(
        { minimum: 0, maximum: 31_536_000 },
        "Time for which a signed request is remembered, so that a copy of it runs nothing. 0 turns this off, for senders that send identical requests on purpose. Absent: until its time is stale, or a day when it has none.",
      ),
    ),
  },
  {
    additionalProperties: false,
    description: "Authentication of the sender. Absent: that of the preset, or the hook token.",
  },
);

/** `auth` as it may be written. */
export type AuthInput = Static<typeof AuthSchema>;
export type Algorithm = (typeof ALGORITHMS)[number];

/** The authentication of a route's sender after validation: defaults filled in, secrets resolved. */
export type AuthConfig = (SignatureAuth | SecretAuth | BasicAuth | JwtAuth | SharedJwtAuth) & RequiredValues;

/** Values that a verified request must hold. */
interface RequiredValues {
  /** By source, one of these texts. */
  readonly require?: Readonly<Record<string, readonly string[]>>;
}

/** Bytes of the request are signed. */
export interface SignatureAuth {
  readonly scheme: "signature";
  /** Shared secrets or public keys, in order; any may match. Empty when a certificate or a delivered key is used instead. */
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
  /** The list in the body whose items are signed one by one. */
  readonly each?: string | undefined;
  readonly id: string | undefined;
  readonly timestamp: TimestampRule | undefined;
  readonly bodyDigest: BodyDigest | undefined;
  readonly anyPort: boolean;
  readonly certificate: CertificateRule | undefined;
  /** `undefined`: as long as the timestamp is good, or a day without one; 0: never remembered. */
  readonly replaySeconds: number | undefined;
  /** True: the key comes from the sender in a handshake and is kept in the state directory. */
  readonly deliveredKey: boolean;
}

export interface BodyDigest {
  readonly from: string;
  readonly algorithm: "sha256";
  readonly encoding: "hex" | "base64";
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
  readonly path?: string | undefined;
  readonly subject: string | undefined;
}

/** The request carries the secret itself. */
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

/** A JSON Web Token. */
interface TokenAuth {
  readonly scheme: "jwt";
  readonly from: readonly string[];
  readonly prefix: string;
  readonly issuer: readonly string[];
  readonly audience: string;
  readonly claims: Readonly<Record<string, string | boolean>>;
}

/** Of an identity provider. */
export interface JwtAuth extends TokenAuth {
  readonly jwksUrl: string;
}

/** A token that the sender signs with a shared secret; any issuer and audience when they are empty. */
export interface SharedJwtAuth extends TokenAuth {
  readonly secrets: readonly string[];
  readonly algorithm: SignatureAuth["algorithm"];
  readonly bodyDigest: BodyDigest | undefined;
}
