import { createHash } from "node:crypto";
import jsonwebtoken from "jsonwebtoken";
import { netlify } from "../../src/presets/senders/netlify.ts";
import { describeOracle } from "./describe-oracle.ts";

/** Netlify has no library for this; its page shows these steps with a library for tokens. */
const SECRET = "an-invented-jws-secret-of-acme";
const HEADER = "x-webhook-signature";
const digestOf = (body: string) => createHash("sha256").update(body).digest("hex");

describeOracle({
  preset: netlify,
  library: "jsonwebtoken",
  secret: SECRET,
  header: HEADER,
  sign: ({ body }) => ({
    [HEADER]: jsonwebtoken.sign({ iss: "netlify", sha256: digestOf(body) }, SECRET, { noTimestamp: true }),
  }),
  accepts: async ({ headers, body }) => {
    const claims = jsonwebtoken.verify(headers[HEADER] ?? "", SECRET, { algorithms: ["HS256"], issuer: "netlify" });
    return typeof claims === "object" && claims["sha256"] === digestOf(body);
  },
  appended: { write: (value) => `${value},${value}`, ours: false, theirs: false },
});
