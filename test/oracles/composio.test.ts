import { Webhook } from "standardwebhooks";
import { composio } from "../../src/presets/senders/composio.ts";
import { describeWhsecSender } from "./describe-whsec-sender.ts";

/** As Composio's own SDK does, the key is the secret as it is written. */
const webhookOf = (secret: string) => new Webhook(Buffer.from(secret).toString("base64"));

describeWhsecSender({
  preset: composio,
  library: "standardwebhooks",
  prefix: "webhook",
  verify: ({ headers, body }, secret) => webhookOf(secret).verify(body, { ...headers }),
  sign: (id, at, body, secret) => webhookOf(secret).sign(id, at, body),
  laxer: ["a time with letters behind it", "a time with a fraction"],
});
