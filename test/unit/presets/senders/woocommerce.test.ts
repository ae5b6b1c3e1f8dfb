import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { woocommerce } from "../../../../src/presets/senders/woocommerce.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const SECRET = "an-invented-secret-of-acme";

describe("the preset woocommerce", () => {
  itReadsSamples(woocommerce, {
    "order.created": {
      event: "order.created",
      sender: {
        name: "ada@example.com",
        id: "26",
        bot: false,
      },
      message: [
        "WooCommerce order 727 created",
        "Status: processing",
        "Total: 29.35 EUR",
        "Customer: Ada Byron <ada@example.com>",
        "Phone: 555-0100",
        "2 x Woo Single #1 at 6.00",
        "1 x Ship Your Idea at 12.00",
        "Note: Please leave it at the door.",
        "Payment: Credit card",
        "Order: https://shop.example.com/wp-admin/post.php?post=727&action=edit",
      ],
    },
    "product.updated": {
      event: "product.updated",
      message: [
        "WooCommerce product 93 updated: Woo Single #1",
        "id: 93",
        "name: Woo Single #1",
        "sku: WOO-1",
        "stock_quantity: 2",
        "permalink: https://shop.example.com/product/93",
        "Shop: https://shop.example.com/",
      ],
    },
    "customer.deleted": {
      event: "customer.deleted",
      message: ["WooCommerce customer 26 deleted", "id: 26", "Shop: https://shop.example.com/"],
    },
  });

  it("reads no delivery id, since all events of a webhook in one second have the same", () => {
    const { headers } = woocommerce.samples["order.created"]!;
    const ids = [727, 728].map((id) => readSample(woocommerce, { headers, payload: { id } }).deliveryId);
    expect(ids).toEqual([undefined, undefined]);
  });

  it("knows a guest by the address alone", () => {
    const payload = { customer_id: 0, billing: { email: "ada@example.com" } };
    expect(readSample(woocommerce, { payload }).sender).toEqual({ name: "ada@example.com", bot: false });
  });

  it("takes a signature over the exact body, and no other", async () => {
    const sign = (body: Uint8Array): string => createHmac("sha256", SECRET).update(body).digest("base64");
    const call = sampleCall(woocommerce, "order.created", (body) => ({ "x-wc-webhook-signature": sign(body) }));
    const verify = (changes: object, headers: object = {}) =>
      verifyCall(woocommerce, { ...call, ...changes, headers: { ...call.headers, ...headers } }, { secrets: [SECRET] });
    expect((await verify({})).ok).toBe(true);
    for (const refused of [
      verify({ body: Buffer.concat([call.body, Buffer.from(" ")]) }),
      verify({}, { "x-wc-webhook-signature": sign(Buffer.from("other")) }),
      verify({}, { "x-wc-webhook-signature": undefined }),
    ]) {
      expect((await refused).ok).toBe(false);
    }
  });
});
