import { createHmac } from "node:crypto";
import { validateSignature } from "@line/bot-sdk";
import { line } from "../../src/presets/senders/line.ts";
import { describeOracle } from "./describe-oracle.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const HEADER = "x-line-signature";

describeOracle({
  preset: line,
  library: "@line/bot-sdk",
  secret: SECRET,
  header: HEADER,
  sign: ({ body }) => ({ [HEADER]: createHmac("sha256", SECRET).update(body).digest("base64") }),
  accepts: async ({ headers, body }) => validateSignature(body, SECRET, headers[HEADER]!),
  appended: { write: (value) => `${value},${value}`, ours: false, theirs: true },
});
