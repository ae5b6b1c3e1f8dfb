/** What whoever makes a wait says of it: the same for people, for clients and for agents. */
import Type, { type Static } from "typebox";
import { LEVELS } from "../../core/level.ts";

const MAX_MATCHES = 8;
const strict = { additionalProperties: false } as const;
const text = (description: string, maxLength = 256) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, description }));

const matchProperties = {
  hook: text("The id of a mapping whose calls are meant."),
  sender: text("The name of a preset whose events are meant, whatever the mapping."),
  event: text("The event's name, such as `workflow_run.completed`; `*` matches any characters."),
  when: text("A condition in CEL over `payload`, `headers`, `query`, `event` and `actor`.", 2_000),
  correlation: Type.Optional(
    Type.Object(
      {
        path: Type.String({ minLength: 1, maxLength: 256, description: "A path in the payload: `deployment.id`." }),
        equals: Type.String({ minLength: 1, maxLength: 256, description: "The value there, as a text." }),
      },
      { ...strict, description: "A value that tells the event from those that look like it." },
    ),
  ),
};

const matches = (description: string) =>
  Type.Optional(Type.Array(Type.Object(matchProperties, strict), { minItems: 1, maxItems: MAX_MATCHES, description }));

/** What is waited for. */
const conditionProperties = {
  ...matchProperties,
  all: matches("Several events, each of which must come."),
  any: matches("Several events, one of which must come."),
  none: matches("Events of which none may come for `quietSeconds`, counted from when the rest has come."),
  quietSeconds: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 2_592_000, description: "How long none of `none` comes." }),
  ),
};

/** What an agent says of a wait; its own session is resumed. */
const wishProperties = {
  ...conditionProperties,
  note: text("What is waited for and why, for the session when it is resumed.", 1_000),
  withinSeconds: Type.Integer({
    minimum: 1,
    maximum: 31_536_000,
    description: "After this time the session is resumed with the fact that nothing came.",
  }),
  times: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description: "How often it resumes the session before it ends. Default: 1.",
    }),
  ),
  minLevel: Type.Optional(
    Type.Enum([...LEVELS], { description: "The least level of an actor whose event counts. Default: `unknown`." }),
  ),
  instead: Type.Optional(
    Type.Boolean({ description: "True: an event that counts does not begin the mapping's own run. Default: false." }),
  ),
};

export const WaitRequestSchema = Type.Object(
  {
    ...wishProperties,
    agentId: text("The agent; the default one when absent."),
    sessionKey: text("The session that is resumed; the agent's main session when absent.", 512),
    reply: Type.Optional(
      Type.Object(
        {
          channel: Type.String({ minLength: 1, maxLength: 256, description: "A channel, or `last`." }),
          to: text("The recipient there."),
        },
        { ...strict, description: "Where the reply of the resumed run goes. Absent: nowhere." },
      ),
    ),
  },
  strict,
);
export const WaitWishSchema = Type.Object(wishProperties, strict);

/** A wait that is tried on stored deliveries. */
export const WaitTrialSchema = Type.Object(
  {
    ...conditionProperties,
    minLevel: wishProperties.minLevel,
    since: text("The earliest receipt: a time in ISO 8601, or how long ago, such as 2h. Default: 7d."),
    until: text("The latest receipt, in the same forms."),
  },
  strict,
);
export type WaitTrial = Static<typeof WaitTrialSchema>;

export type WaitRequest = Static<typeof WaitRequestSchema>;
export type WaitWish = Static<typeof WaitWishSchema>;

/** Thrown for a wait that cannot be made; the message is written for whoever asked. */
export class WaitRefused extends Error {
  override readonly name = "WaitRefused";
}
