import Type from "typebox";
import type { Static } from "typebox";
import { text } from "./schema-parts.ts";

const CONDITION_OBJECT = '{ "setting": "<name>" } or { "empty": true }';

const filled = (description: string) => text({ description, title: "a text with placeholders", maxLength: 1_024 });

/** The condition on a value of the request. */
const ConditionSchema = Type.Union(
  [
    Type.String({
      maxLength: 1_024,
      description: "Exactly this text; numbers and booleans are compared as JSON has them.",
    }),
    Type.Boolean({
      description: "`true`: there must be something. `false`: there must be nothing, not even an empty text.",
    }),
    Type.Array(Type.String({ maxLength: 1_024 }), { minItems: 1, maxItems: 16, description: "One of these texts." }),
    Type.Object(
      {
        setting: Type.Optional(
          text({ description: "Name of the setting that it must equal; compared in constant time. Not set: never." }),
        ),
        empty: Type.Optional(
          Type.Literal(true, { description: "It must be a list without entries; for places in the body only." }),
        ),
      },
      { additionalProperties: false, minProperties: 1, maxProperties: 1, title: CONDITION_OBJECT },
    ),
  ],
  { title: `a text, a list of alternatives, true (something), false (nothing), ${CONDITION_OBJECT}` },
);

/** One value of a JSON answer, or an entry of a list there. */
const JsonScalarSchema = Type.Union([filled("A text with placeholders."), Type.Number(), Type.Boolean()], {
  title: "a text, a number, true or false",
});

/**
 * A challenge by which a sender checks the endpoint, as data: it is recognized by `when`, answered by
 * `reply` at once, and never reaches an agent.
 */
export const HandshakeSchema = Type.Object(
  {
    name: text({ description: "The sender's name for it, for logs." }),
    method: Type.Optional(
      Type.Enum(["POST", "GET", "HEAD", "OPTIONS"], { description: "The method it comes with. Absent: `POST`." }),
    ),
    verified: Type.Boolean({
      description: "Requires that the route's scheme has verified it. Otherwise only the exact shape is accepted.",
    }),
    when: Type.Optional(
      Type.Record(Type.String({ maxLength: 200 }), ConditionSchema, {
        description:
          "Places in the request (`body:type`, `query:challenge`, `header:x-name`) and what they must hold: all of them. A handshake that comes with `POST` needs one that is not `false`, or `emptyBody`, or `onlyKeys` without entries.",
      }),
    ),
    onlyKeys: Type.Optional(
      Type.Array(Type.String({ maxLength: 200 }), {
        maxItems: 64,
        description:
          "The keys that the body (with any method but `POST`: the query) may have; any other, and it is no handshake.",
      }),
    ),
    emptyBody: Type.Optional(Type.Boolean({ description: "Requires an empty body." })),
    computed: Type.Optional(
      Type.Record(
        Type.String({ maxLength: 64 }),
        Type.Object(
          {
            algorithm: Type.Enum(["hmac-sha256", "sha256"], { description: "`hmac-sha256` takes the route's secret." }),
            encoding: Type.Enum(["hex", "base64"], { description: "Encoding of the result." }),
            of: filled(
              "The text to hash, with the placeholders of `reply` except `computed`. `{url}` is the public URL without its query. With `hmac-sha256` and without `verified`, a value of the request must look like a token, since anyone can ask for its signature.",
            ),
          },
          { additionalProperties: false },
        ),
        { description: "Values for `{computed:<name>}`." },
      ),
    ),
    reply: Type.Object(
      {
        status: Type.Integer({ minimum: 200, maximum: 299, description: "Status of the answer." }),
        text: Type.Optional(filled("The answer as plain text.")),
        json: Type.Optional(
          Type.Record(
            Type.String({ maxLength: 200 }),
            Type.Union([...JsonScalarSchema.anyOf, Type.Array(JsonScalarSchema, { maxItems: 16 })], {
              title: "a text, a number, true, false or a list of those",
            }),
            { description: "The answer as a JSON object." },
          ),
        ),
        headers: Type.Optional(
          Type.Record(Type.String({ maxLength: 200 }), filled("A text with placeholders."), {
            description: "Headers of the answer.",
          }),
        ),
      },
      {
        additionalProperties: false,
        description:
          "The answer. Its texts may hold `{body:<path>}`, `{query:<name>}`, `{header:<name>}`, `{computed:<name>}`, `{setting:<name>}` and `{url}`; where one has no value, or none that may be repeated, it is no handshake. Neither `text` nor `json`: no content.",
      },
    ),
    effect: Type.Optional(
      Type.Object(
        {
          keyFrom: Type.Optional(
            text({
              description:
                "Place of the key that the sender delivers: 16 to 512 visible ASCII characters; taken once, and only by a route without a secret.",
            }),
          ),
          confirmUrlFrom: Type.Optional(
            text({
              description: "Place of the https URL that is fetched to confirm; needs `verified` and `confirmHosts`.",
            }),
          ),
          confirmHosts: Type.Optional(
            Type.Array(text({ description: "", title: "an exact host name, or one with * for one label" }), {
              minItems: 1,
              maxItems: 100,
              description: "Hosts it may be on; `*` matches one label.",
            }),
          ),
        },
        { additionalProperties: false, description: "The effect besides the answer." },
      ),
    ),
  },
  { additionalProperties: false },
);

export type Handshake = Static<typeof HandshakeSchema>;
