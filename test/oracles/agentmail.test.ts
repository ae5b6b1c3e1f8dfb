import { Webhook } from "svix";
import { agentmail } from "../../src/presets/senders/agentmail.ts";
import { describeWhsecSender } from "./describe-whsec-sender.ts";

describeWhsecSender({
  preset: agentmail,
  library: "svix",
  prefix: "svix",
  verify: ({ headers, body }, secret) => new Webhook(secret).verify(body, { ...headers }),
  sign: (id, at, body, secret) => new Webhook(secret).sign(id, at, body),
  laxer: ["a time with letters behind it", "a time with a fraction"],
});
