import Anthropic from "@anthropic-ai/sdk";
import { anthropic } from "../../src/presets/senders/anthropic.ts";
import { describeWhsecSender } from "./describe-whsec-sender.ts";

const sdk = new Anthropic({ apiKey: "made-up-for-tests" });

describeWhsecSender({
  preset: anthropic,
  library: "@anthropic-ai/sdk",
  prefix: "webhook",
  verify: ({ headers, body }, key) => sdk.beta.webhooks.unwrap(body, { headers: { ...headers }, key }),
  laxer: ["a time with letters behind it", "a time with a fraction"],
});
