import OpenAI from "openai";
import { openai } from "../../src/presets/senders/openai.ts";
import { describeWhsecSender } from "./describe-whsec-sender.ts";

const sdk = new OpenAI({ apiKey: "made-up-for-tests" });

describeWhsecSender({
  preset: openai,
  library: "openai",
  prefix: "webhook",
  verify: ({ headers, body }, secret) => sdk.webhooks.unwrap(body, { ...headers }, secret),
  laxer: ["a signature without its version", "a signature with something appended"],
});
