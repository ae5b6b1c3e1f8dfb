import { Resend } from "resend";
import { resend } from "../../src/presets/senders/resend.ts";
import { describeWhsecSender } from "./describe-whsec-sender.ts";

const sdk = new Resend("re_made_up_for_tests");

describeWhsecSender({
  preset: resend,
  library: "resend",
  prefix: "svix",
  verify: ({ headers, body }, secret) =>
    sdk.webhooks.verify({
      payload: body,
      headers: {
        id: headers["svix-id"] ?? "",
        timestamp: headers["svix-timestamp"] ?? "",
        signature: headers["svix-signature"] ?? "",
      },
      webhookSecret: secret,
    }),
  laxer: ["a time with letters behind it", "a time with a fraction"],
});
