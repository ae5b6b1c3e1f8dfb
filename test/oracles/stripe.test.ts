import Stripe from "stripe";
import { expect, it } from "vitest";
import { stripe } from "../../src/presets/senders/stripe.ts";
import { NOW, receivedCall } from "../../src/testing/preset-probe.ts";
import { describeOracle } from "./describe-oracle.ts";

const SECRET = "whsec_aSecretThatOnlyThisTestKnows0123456";
const { webhooks } = new Stripe("sk_test_nothing_is_called");
const NOBODYS = "0".repeat(64);

const recorder = describeOracle({
  preset: stripe,
  library: "stripe",
  secret: SECRET,
  header: "stripe-signature",
  sign: ({ body }, now) => ({
    "stripe-signature": webhooks.generateTestHeaderString({ payload: body, secret: SECRET, timestamp: now / 1_000 }),
  }),
  accepts: async ({ body, headers }) => webhooks.constructEvent(body, headers["stripe-signature"] ?? "", SECRET),
  staleAfter: { ours: 300, theirs: 300 },
  ahead: { ours: 300, theirs: "any" },
  // While a secret is rolled, Stripe signs with both: any may match.
  appended: { write: (value) => `${value},v1=${NOBODYS},v0=${NOBODYS}`, ours: true, theirs: true },
});

const headerOf = (payload: string, further: { scheme?: string } = {}) =>
  webhooks.generateTestHeaderString({ payload, secret: SECRET, timestamp: NOW / 1_000, ...further });
const bothSay = (body: string, header: string) => {
  const signed = {
    url: "https://gateway.example.com/hooks/stripe",
    headers: { "stripe-signature": header },
    body: Buffer.from(body),
  };
  return recorder.judge(receivedCall(signed), { secrets: [SECRET] }, () =>
    webhooks.constructEvent(body, header, SECRET),
  );
};

it("takes no signature of the old scheme v0 alone, as the library does not", async () => {
  expect(await bothSay("{}", headerOf("{}", { scheme: "v0" }))).toEqual({ we: false, sdk: false });
});

it("refuses two times in one header, of which the library takes the last", async () => {
  expect(await bothSay("{}", `t=1,${headerOf("{}")}`)).toEqual({ we: false, sdk: true });
});

it("refuses a time with letters behind it, which the library reads over", async () => {
  expect(await bothSay("{}", headerOf("{}").replace(/t=(\d+)/, "t=$1x"))).toEqual({ we: false, sdk: true });
});
