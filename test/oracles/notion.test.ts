import { signWebhookPayload, verifyWebhookSignature } from "@notionhq/client";
import { notion } from "../../src/presets/senders/notion.ts";
import { describeOracle } from "./describe-oracle.ts";

const TOKEN = "secret_madeUpVerificationToken0123456789abcdef";
const header = "x-notion-signature";

describeOracle({
  preset: notion,
  library: "@notionhq/client",
  secret: TOKEN,
  header,
  sign: async ({ body }) => ({ [header]: await signWebhookPayload({ body, verificationToken: TOKEN }) }),
  accepts: ({ headers, body }) =>
    verifyWebhookSignature({ body, signature: headers[header], verificationToken: TOKEN }),
  appended: { write: (value) => `${value},sha256=${"0".repeat(64)}`, ours: false, theirs: false },
});
