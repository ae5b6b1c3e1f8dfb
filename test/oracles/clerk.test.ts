import { verifyWebhook } from "@clerk/backend/webhooks";
import { clerk } from "../../src/presets/senders/clerk.ts";
import { describeWhsecSender } from "./describe-whsec-sender.ts";

describeWhsecSender({
  preset: clerk,
  library: "@clerk/backend",
  prefix: "svix",
  verify: ({ headers, body }, secret) =>
    verifyWebhook(
      new Request("https://gateway.example.com/hooks/clerk", { method: "POST", headers: { ...headers }, body }),
      {
        signingSecret: secret,
      },
    ),
  laxer: ["a time with letters behind it", "a time with a fraction"],
});
