import { itemLines, joinText, labeled, listAt, messageOf, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { eventActor } from "../event-fields.ts";
import { dataLines, withoutKeys } from "../message/data-lines.ts";
import { bodyAt, capitalized, headline, lineAt, phrase, spoken, titled } from "../message/headline.ts";
import { decimalAmount, personText } from "../message/value-text.ts";
import type { PresetContext, PresetEvent } from "../preset.ts";

const order = {
  id: 727,
  status: "processing",
  currency: "EUR",
  date_created_gmt: "2026-11-20T11:59:50",
  total: "29.35",
  customer_id: 26,
  billing: { first_name: "Ada", last_name: "Byron", email: "ada@example.com", phone: "555-0100" },
  customer_note: "Please leave it at the door.",
  payment_method_title: "Credit card",
  line_items: [
    { id: 315, name: "Woo Single #1", product_id: 93, quantity: 2, total: "6.00", sku: "WOO-1" },
    { id: 316, name: "Ship Your Idea", product_id: 22, quantity: 1, total: "12.00", sku: "" },
  ],
  number: "727",
};

const sent = (topic: string, delivery: string) => ({
  "x-wc-webhook-source": "https://shop.example.com/",
  "x-wc-webhook-topic": topic,
  "x-wc-webhook-id": "142",
  "x-wc-webhook-delivery-id": delivery,
});

/** The customer of every order without an account. */
const GUEST = "0";

/** Webhooks of a WooCommerce shop, about orders, products, customers and coupons. */
export const woocommerce = definePreset({
  name: "woocommerce",
  title: "WooCommerce",
  documentation: "https://woocommerce.com/document/webhooks/",
  auth: {
    scheme: "signature",
    from: "header:x-wc-webhook-signature",
    encoding: "base64",
    content: "{body}",
  },
  secret: { label: "Secret", madeBy: "owner" },
  handshakes: [
    {
      // A webhook that is saved is checked by a form that no secret signs.
      name: "ping",
      verified: false,
      when: { "body:webhook_id": true },
      onlyKeys: ["webhook_id"],
      reply: { status: 200, json: { ok: true } },
    },
  ],
  event: "header:x-wc-webhook-topic",
  // No delivery id: that of WooCommerce is made of the webhook and the second, so different events of one second share it.
  sender({ payload }: PresetContext) {
    const id = lineAt(payload, "customer_id");
    return eventActor(lineAt(payload, "billing.email", "email"), id === GUEST ? "" : id);
  },
  ignored: "nothing. WooCommerce marks no bots",
  success: {
    statuses: "2xx, 301 and 302",
    otherwise: "does not try again; disables the webhook after 5 failures in a row",
  },
  mapping: { name: "WooCommerce", maxBodyBytes: 1_048_576 },
  message,
  samples: {
    "order.created": { headers: sent("order.created", "8c1a6b2f0d"), payload: order },
    "product.updated": {
      headers: sent("product.updated", "8c1a6b2f0e"),
      payload: {
        id: 93,
        name: "Woo Single #1",
        sku: "WOO-1",
        stock_quantity: 2,
        permalink: "https://shop.example.com/product/93",
      },
    },
    "customer.deleted": { headers: sent("customer.deleted", "8c1a6b2f0f"), payload: { id: 26 } },
  },
  setup: [
    "In WordPress open WooCommerce, Settings, Advanced, Webhooks, and choose Add webhook.",
    "Delivery URL: {url}. Choose the topic, and the newest API version. Each topic needs a webhook of its own.",
    "Secret: choose the {secret}, for example with openssl rand -hex 32, and set the same as hooks.woocommerce.secret before you save: WooCommerce checks the URL then.",
  ],
});

function message({ payload, event = "", headers }: PresetEvent): string {
  const [resource = "", action = ""] = event.split(".");
  const shop = headers["x-wc-webhook-source"] ?? "";
  const what = headline("WooCommerce", resource || "event", lineAt(payload, "number", "id"), spoken(action));
  if (resource !== "order") {
    return messageOf(
      titled(what, lineAt(payload, "name", "code", "email")),
      dataLines(withoutKeys(payload, "_links", "meta_data", "images")),
      labeled("Shop", shop),
    );
  }
  const [first, last] = [lineAt(payload, "billing.first_name"), lineAt(payload, "billing.last_name")];
  return messageOf(
    what,
    labeled("Status", lineAt(payload, "status")),
    labeled("Total", decimalAmount(valueAt(payload, "total"), valueAt(payload, "currency"))),
    labeled("Customer", personText(joinText(" ", first, last), lineAt(payload, "billing.email"))),
    labeled("Phone", lineAt(payload, "billing.phone")),
    itemLines(listAt(payload, "line_items"), (each) =>
      joinText(" ", `${lineAt(each, "quantity") || "?"} x`, lineAt(each, "name"), phrase("at", lineAt(each, "total"))),
    ),
    labeled("Note", bodyAt(payload, "customer_note")),
    labeled("Payment", capitalized(lineAt(payload, "payment_method_title"))),
    labeled(
      "Order",
      shop === "" ? lineAt(payload, "id") : `${shop}wp-admin/post.php?post=${lineAt(payload, "id")}&action=edit`,
    ),
  );
}
