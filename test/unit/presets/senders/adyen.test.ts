import { describe, expect, it } from "vitest";
import { adyen } from "../../../../src/presets/senders/adyen.ts";
import { NOW, readSample, receivedCall, signSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

const SECRET = "DFB1EB5485895CFA84146406857104ABB4CBCABDC8AAF103A624C8F6A3EAAB00";
const options = { secrets: [SECRET] };

/** The example of Adyen's documentation, whose key it publishes. */
const PUBLISHED = {
  key: "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056",
  item: {
    additionalData: { hmacSignature: "coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0=" },
    amount: { value: 1130, currency: "EUR" },
    pspReference: "7914073381342284",
    eventCode: "AUTHORISATION",
    eventDate: "2019-05-06T17:15:34.121+02:00",
    merchantAccountCode: "TestMerchant",
    merchantReference: "TestPayment-1407325143704",
    paymentMethod: "visa",
    success: "true",
  },
};

const verify = async (items: unknown, secrets: readonly string[] = [SECRET]) => {
  const body = Buffer.from(JSON.stringify({ live: "false", notificationItems: items }));
  const headers = { "content-type": "application/json" };
  return verifyCall(adyen, receivedCall({ url: "https://gateway.example.com/hooks/adyen", headers, body }), {
    secrets,
  });
};

const itemOf = (name: string): unknown => {
  const { body } = signSample(adyen, adyen.samples[name]!, { key: SECRET, ...options });
  return (JSON.parse(Buffer.from(body).toString()) as { notificationItems: unknown[] }).notificationItems[0];
};

describe("the preset adyen", () => {
  itReadsSamples(adyen, {
    AUTHORISATION: {
      event: "AUTHORISATION",
      deliveryId: "8835540567420001.AUTHORISATION.false",
      answer: { status: 200, contentType: "text/plain", body: "[accepted]" },
      message: [
        "Authorisation of 49.00 EUR failed",
        "Reason: Refused",
        "Reference: order-1001",
        "Method: visa 0010",
        "Shopper: ada@example.com",
        "At: 2026-11-20 11:59 UTC",
        "Ids: payment 8835540567420001, account AcmeECOM",
        "Test mode: no money moved.",
      ],
    },
    REFUND: {
      event: "REFUND",
      deliveryId: "8835540567420002.REFUND.true",
      answer: { status: 200, contentType: "text/plain", body: "[accepted]" },
      message: [
        "Refund of 49.00 EUR succeeded",
        "Reference: order-1001",
        "Method: visa 0010",
        "Shopper: ada@example.com",
        "At: 2026-11-20 11:59 UTC",
        "Ids: payment 8835540567420002, original payment 8835540567420000, account AcmeECOM",
        "Test mode: no money moved.",
      ],
    },
    CHARGEBACK: {
      event: "CHARGEBACK",
      deliveryId: "8835540567420003.CHARGEBACK.true",
      answer: { status: 200, contentType: "text/plain", body: "[accepted]" },
      message: [
        "Chargeback of 49.00 EUR succeeded",
        "Reason: Merchandise/Services Not Received",
        "Reference: order-1001",
        "Method: visa 0010",
        "Shopper: ada@example.com",
        "At: 2026-11-20 11:59 UTC",
        "Ids: payment 8835540567420003, original payment 8835540567420000, account AcmeECOM",
        "Test mode: no money moved.",
      ],
    },
    test: {
      event: "AUTHORISATION",
      deliveryId: "test_AUTHORISATION_1.AUTHORISATION.true",
      skip: "a test of Adyen's Customer Area",
      answer: { status: 200, contentType: "text/plain", body: "[accepted]" },
      message: [
        "Authorisation of 49.00 EUR succeeded",
        "Reference: order-1001",
        "Method: visa 0010",
        "Shopper: ada@example.com",
        "At: 2026-11-20 11:59 UTC",
        "Ids: payment test_AUTHORISATION_1, account AcmeECOM",
        "Test mode: no money moved.",
      ],
    },
  });

  it("takes a live payment for no test, whatever its reference is", () => {
    const item = { NotificationRequestItem: { eventCode: "REFUND", pspReference: "test_1" } };
    const payload = { live: "true", notificationItems: [item] };
    expect(readSample(adyen, { payload })).toMatchObject({
      skip: undefined,
      message: "Refund succeeded\nIds: payment test_1",
    });
  });

  it("names the events of a call with several items, and has an id for it when each item has one", () => {
    const items = ["REFUND", "CAPTURE"].map((eventCode) => ({
      NotificationRequestItem: { eventCode, pspReference: "1", success: "true" },
    }));
    const read = (notificationItems: readonly unknown[]) => readSample(adyen, { payload: { notificationItems } });
    expect(read(items)).toMatchObject({
      event: "REFUND+CAPTURE",
      deliveryId: expect.stringMatching(/^sha256-/) as string,
    });
    expect(read([...items, { NotificationRequestItem: { eventCode: "CAPTURE" } }]).deliveryId).toBeUndefined();
  });

  it("takes the example of Adyen's documentation, whose key no configuration may have", async () => {
    const items = [{ NotificationRequestItem: PUBLISHED.item }];
    expect(await verify(items, [PUBLISHED.key])).toMatchObject({ ok: true, replay: { expiresAt: NOW + 86_400_000 } });
    expect(adyen.secret!.known).toContain(PUBLISHED.key);
  });

  it("takes a call when each of its items is signed, and only then", async () => {
    const [refund, chargeback] = [itemOf("REFUND"), itemOf("CHARGEBACK")];
    const other = { NotificationRequestItem: PUBLISHED.item };
    const first = await verify([refund, chargeback]);
    expect(first.ok).toBe(true);
    expect(await verify([refund, chargeback])).toEqual(first);
    expect(await verify([refund, other])).toEqual({ ok: false, reason: "no signature matches" });
    expect((await verify([other, refund])).ok).toBe(false);
    expect((await verify([refund, {}])).ok).toBe(false);
    expect((await verify([refund, null])).ok).toBe(false);
    expect(await verify([])).toEqual({ ok: false, reason: "body notificationItems has no items" });
    expect(await verify({ 0: refund })).toEqual({ ok: false, reason: "body notificationItems has no items" });
    const many = Array.from({ length: 17 }, () => refund);
    expect(await verify(many)).toEqual({ ok: false, reason: "body notificationItems has more than 16 items" });
  });
});
