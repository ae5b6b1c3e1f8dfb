import { createHmac } from "node:crypto";
import Razorpay from "razorpay";
import { razorpay } from "../../src/presets/senders/razorpay.ts";
import { describeOracle } from "./describe-oracle.ts";

const SECRET = "a-secret-of-razorpay-0123456789";
const header = "x-razorpay-signature";

describeOracle({
  preset: razorpay,
  library: "razorpay",
  secret: SECRET,
  header,
  sign: ({ body }) => ({ [header]: createHmac("sha256", SECRET).update(body).digest("hex") }),
  accepts: async ({ headers, body }) => Razorpay.validateWebhookSignature(body, headers[header]!, SECRET),
  appended: { write: (value) => `${value},${"0".repeat(64)}`, ours: false, theirs: false },
});
