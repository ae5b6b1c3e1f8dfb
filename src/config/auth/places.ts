import Type from "typebox";
import { seconds, text } from "../schema-parts.ts";

/** `header:<name>`, `query:<name>`, `body:<path>`, `pair:<key>` (of the signature header) or `path`. */
const SOURCE = "^(?:(?:header|query|body|pair):[^\\s:][^\\u0000-\\u001f]*|path)$";
export const SOURCE_TITLE =
  'a place in the request such as "header:x-signature", "query:key", "body:data.id" or "pair:t"';

/** The schema of a place in a request. */
export const source = (description: string) =>
  text({ description, title: SOURCE_TITLE, pattern: SOURCE, maxLength: 200 });

/** The place and the unit of the signing time. */
export const TimestampSchema = Type.Object(
  {
    from: Type.Optional(source("Place of the signing time. Required unless the preset has it.")),
    unit: Type.Optional(
      Type.Enum(["seconds", "milliseconds", "iso8601"], { description: "Form of the time. Absent: `seconds`." }),
    ),
    toleranceSeconds: Type.Optional(seconds({ minimum: 1, maximum: 604_800 }, "Largest age. Absent: 300.")),
    futureSeconds: Type.Optional(
      seconds({ minimum: 0, maximum: 604_800 }, "Largest distance in the future. Absent: like `toleranceSeconds`."),
    ),
  },
  { additionalProperties: false, description: "The signed time; a request whose time is not there is refused." },
);

/** A certificate that the request names, from hosts that the configuration names. */
export const CertificateSchema = Type.Object(
  {
    from: Type.Optional(source("Place of the certificate's URL. Required unless the preset has it.")),
    hosts: Type.Optional(
      Type.Array(text({ description: "", title: "an exact host name, or one with * for one label" }), {
        minItems: 1,
        maxItems: 100,
        description:
          "Hosts it may be fetched from, over https only; `*` matches one label. Required unless the preset has them.",
      }),
    ),
    path: Type.Optional(
      text({ description: "Path of the certificate's URL; `#` matches one hexadecimal digit. Absent: any path." }),
    ),
    subject: Type.Optional(text({ description: "The common name that the certificate must have." })),
  },
  { additionalProperties: false, description: "Takes the public key from a certificate that the request names." },
);

/** The digest of the body that a request carries. */
export const BodyDigestSchema = Type.Object(
  {
    from: Type.Optional(
      text({
        description:
          "Place of the body's digest; with the scheme `jwt`, `claim:<name>`. Required unless the preset has it.",
        title: `${SOURCE_TITLE}, or "claim:sha256" of a token`,
        pattern: SOURCE.replace("pair", "pair|claim"),
        maxLength: 200,
      }),
    ),
    algorithm: Type.Optional(Type.Enum(["sha256"], { description: "Algorithm of the digest. Absent: `sha256`." })),
    encoding: Type.Optional(Type.Enum(["hex", "base64"], { description: "Encoding of the digest. Absent: `hex`." })),
  },
  {
    additionalProperties: false,
    description:
      "A signed digest of the body, for bodies that the content covers with `{form}` only if they are forms, and for tokens.",
  },
);
