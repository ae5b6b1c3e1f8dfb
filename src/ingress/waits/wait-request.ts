/** What people and clients say of a wait that they make or try. */
import Type, { type Static } from "typebox";
import { conditionProperties, strict, boundedText, wishProperties } from "../../config/wait-wish.ts";

export const WaitRequestSchema = Type.Object(
  {
    ...wishProperties,
    agentId: boundedText("The agent; the default one when absent."),
    sessionKey: boundedText("The session that is resumed; the agent's main session when absent.", 512),
    reply: Type.Optional(
      Type.Object(
        {
          channel: Type.String({ minLength: 1, maxLength: 256, description: "A channel, or `last`." }),
          to: boundedText("The recipient there."),
        },
        { ...strict, description: "Where the reply of the resumed run goes. Absent: nowhere." },
      ),
    ),
  },
  strict,
);

/** A wait that is tried on stored deliveries. */
export const WaitTrialSchema = Type.Object(
  {
    ...conditionProperties,
    minLevel: wishProperties.minLevel,
    since: boundedText("The earliest receipt: a time in ISO 8601, or how long ago, such as 2h. Default: 7d."),
    until: boundedText("The latest receipt, in the same forms."),
  },
  strict,
);
export type WaitTrial = Static<typeof WaitTrialSchema>;

export type WaitRequest = Static<typeof WaitRequestSchema>;
