import { describe, expect, it } from "vitest";
import { shopify } from "../../../../src/presets/senders/shopify.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itNamesItsSamples } from "../it-names-its-samples.ts";

const read = (topic: string, payload: unknown, headers: Readonly<Record<string, string>> = {}) =>
  readSample(shopify, { headers: { "x-shopify-topic": topic, ...headers }, payload });

describe("shopify", () => {
  itNamesItsSamples(shopify, (sample) => sample.headers!["x-shopify-webhook-id"]);

  it("says that the id is in a header, which is not signed", () => {
    expect(shopify.deliveryIdSigned).toBe(false);
  });

  it("gives the buyer, items and price of an order", () => {
    expect(readSample(shopify, shopify.samples["orders/create"]!).message).toBe(
      [
        "Order #1001 of 149.90 EUR from Ada Byron <ada@example.com> was created",
        "2 × Tea set: Blue",
        "1 × Gift wrapping",
        "Payment: pending",
        "Ships to: Turin, Italy",
        "Note: Please ring twice.",
        "Id: 820982911946154",
        "Store: example-ceramics.myshopify.com",
        "https://example-ceramics.myshopify.com/admin/orders/820982911946154",
      ].join("\n"),
    );
  });

  it("gives the amount of a refund", () => {
    expect(readSample(shopify, shopify.samples["refunds/create"]!).message).toMatch(
      /^Refund of 64\.95 EUR was created\n/,
    );
  });

  it("gives the variants of a product with price and stock", () => {
    expect(readSample(shopify, shopify.samples["products/update"]!).message).toMatch(
      /^Product Tea set was updated\nBlue: price 64\.95, 3 in stock\n/,
    );
  });

  it("names a customer once", () => {
    const customer = { id: 7, first_name: "Ada", last_name: "Byron", email: "ada@example.com" };
    expect(read("customers/create", customer).message).toBe("Customer Ada Byron <ada@example.com> was created\nId: 7");
  });

  it("gives the amount and reason of a dispute", () => {
    const dispute = { id: 8, amount: "11.50", currency: "USD", reason: "fraudulent", status: "needs_response" };
    expect(read("disputes/create", dispute).message).toBe(
      "Dispute of 11.50 USD was created\nReason: fraudulent\nStatus: needs response\nId: 8",
    );
  });

  it("says an edited order was updated", () => {
    expect(read("orders/edited", { order_edit: { id: 1 } }).message).toBe("Order was updated");
  });

  it("says which order was edited, and how", () => {
    const order_edit = {
      id: 1,
      order_id: 42,
      staff_note: "One more",
      line_items: { additions: [{ id: 7, delta: 1 }], removals: [] },
    };
    expect(read("orders/edited", { order_edit }).message).toBe(
      'Order was updated\nNote: One more\nChanged items: {"additions":[{"id":7,"delta":1}]}\nOrder: 42',
    );
  });

  it("names what a duty is about", () => {
    const payload = {
      customer: { id: 9, email: "ada@example.com" },
      orders_requested: [1, 2],
      data_request: { id: 5 },
    };
    expect(read("customers/data_request", payload).message).toBe(
      "A customer asks for the data that is stored about them: ada@example.com\nOrders: 1, 2\nIds: customer 9, request 5",
    );
  });

  it.each([
    [
      "customers/data_request",
      { customer: { email: "ada@example.com" } },
      "A customer asks for the data that is stored about them: ada@example.com",
    ],
    [
      "customers/redact",
      { customer: { email: "ada@example.com" } },
      "The data of a customer must be erased: ada@example.com",
    ],
    [
      "shop/redact",
      { shop_domain: "example.myshopify.com" },
      "The data of a shop must be erased: example.myshopify.com",
    ],
    ["app/uninstalled", {}, "The app was uninstalled"],
  ])("says what %s asks for", (topic, payload, message) => {
    expect(read(topic, payload).message).toBe(message);
  });

  it("reads the events that Shopify begins to send in the place of webhooks", () => {
    const { event, deliveryId, message } = readSample(shopify, {
      headers: { "shopify-topic": "Product", "shopify-action": "update", "shopify-webhook-id": "w-1" },
      payload: { topic: "Product", action: "update", handle: "prices" },
    });
    expect({ event, deliveryId, message }).toEqual({
      event: "Product.update",
      deliveryId: "w-1",
      message: "Shopify event Product.update\ntopic: Product\naction: update\nhandle: prices",
    });
  });

  it("makes no link of a shop that is none", () => {
    const { message } = read("orders/paid", { id: 7, name: "#7" }, { "x-shopify-shop-domain": "evil.example.com/x" });
    expect(message).toBe("Order #7 was paid\nId: 7");
  });

  it("skips the test notifications of the admin pages", () => {
    expect(read("orders/create", {}, { "x-shopify-test": "true" }).skip).toBe("a test notification of Shopify");
    expect(read("orders/create", {}, { "x-shopify-test": "false" }).skip).toBeUndefined();
  });
});
