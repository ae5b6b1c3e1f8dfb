/** The keys of `hooks` that say how runs are carried out, told of and kept. */
import Type from "typebox";
import { RetentionSchema } from "./retention.ts";
import { RetrySchema } from "./retry.ts";
import { BudgetSchema, channelTarget } from "./run.ts";
import { seconds, secret, text, WAIT_SECONDS, whole, withDefault } from "./schema-parts.ts";

/** At least two labels, after a `*.` too; the last one begins with a letter, as no address does. */
const HOST = "^(?:\\*\\.)?(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\\.)+[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?$";

export const OPERATION_KEYS = {
  retry: Type.Optional(RetrySchema),
  budget: Type.Optional(BudgetSchema),
  waitSeconds: withDefault(
    seconds(WAIT_SECONDS, "How long a caller who asks for the result is kept waiting, after which the answer is 202."),
    25,
  ),
  maxWaiting: withDefault(
    whole({ minimum: 0, maximum: 10_000 }, "Callers who wait at once; further ones are answered 202 at once."),
    64,
  ),
  callbacks: Type.Optional(
    Type.Object(
      {
        hosts: Type.Array(
          text({
            description: "",
            title: 'a host name such as "ci.example.com" or "*.example.com"',
            maxLength: 253,
            pattern: HOST,
          }),
          {
            minItems: 1,
            maxItems: 100,
            description:
              "Hosts that results may be sent to, over https only; `*.` at the start stands for every name below.",
          },
        ),
        secret: secret(
          "Signs what is sent by Standard Webhooks: `whsec_` and base64, or base64, of at least 24 random bytes.",
        ),
      },
      {
        additionalProperties: false,
        description: "Lets callers of `/agent` name a `callbackUrl` that is told the result. Absent: they may not.",
      },
    ),
  ),
  notices: Type.Optional(
    channelTarget("Where notices go besides the main session: of an outage, of a budget that is used up."),
  ),
  retention: Type.Optional(RetentionSchema),
};
