import { definePreset } from "../define-preset.ts";
import { itemLines, joinText, labeled, listAt, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { PresetEvent } from "../preset.ts";
import { asJson } from "../message/data-lines.ts";
import { happened, words } from "../message/headline.ts";
import { capitalized, headline, idLine, lineAt, namesAt, phrase, titled } from "../message/headline.ts";
import { decimalAmount } from "../message/value-text.ts";
import { personText } from "../message/value-text.ts";
import { genericMessage } from "../message/unknown-event.ts";

/** The subject of a topic, and the part of the admin pages that shows it. */
const SUBJECTS: Readonly<Record<string, readonly [what: string, page: string]>> = {
  checkouts: ["Checkout", "checkouts"],
  customers: ["Customer", "customers"],
  disputes: ["Dispute", ""],
  draft_orders: ["Draft order", "draft_orders"],
  fulfillments: ["Fulfillment", ""],
  orders: ["Order", "orders"],
  products: ["Product", "products"],
  refunds: ["Refund", ""],
};

/** Topics that Shopify's rules require every app to act on. */
const DUTIES: Readonly<Record<string, string>> = {
  "app/uninstalled": "The app was uninstalled",
  "customers/data_request": "A customer asks for the data that is stored about them",
  "customers/redact": "The data of a customer must be erased",
  "shop/redact": "The data of a shop must be erased",
};

const SHOP = /^[a-z0-9][a-z0-9-]*\.myshopify\.com$/i;

/** Orders, customers, products and refunds of a Shopify store. */
export const shopify = definePreset({
  name: "shopify",
  title: "Shopify",
  documentation: "https://shopify.dev/docs/apps/build/webhooks",
  // The second header is that of Events, which Shopify begins to send instead of webhooks.
  auth: {
    scheme: "signature",
    from: ["header:x-shopify-hmac-sha256", "header:shopify-hmac-sha256"],
    encoding: "base64",
    content: "{body}",
  },
  secret: {
    label: "Client secret",
    madeBy: "sender",
    minLength: 32,
    known: ["hush", "my_client_secret"],
  },
  event: ["header:x-shopify-topic", "header:shopify-topic", "header:shopify-action"],
  deliveryId: {
    from: ({ headers }) => headers["x-shopify-webhook-id"] || headers["shopify-webhook-id"] || undefined,
    where: "header:x-shopify-webhook-id or header:shopify-webhook-id",
    signed: false,
  },
  sender: ({ payload }) => {
    const id = lineAt(payload, "user_id");
    return id === "" ? undefined : { name: `staff ${id}`, id, role: "staff", bot: false };
  },
  vouchesForActors: true,
  roles: { staff: "trusted" },
  skip: ({ headers }) => (headers["x-shopify-test"] === "true" ? "a test notification of Shopify" : undefined),
  message,
  mapping: { name: "Shopify", maxBodyBytes: 4_194_304 },
  success: {
    statuses: "2xx, within 5 seconds",
    otherwise: "tries 8 times in 4 hours, then deletes a subscription made through the API",
  },
  ignored: "test notifications. Shopify marks no bots",
  samples: {
    "orders/create": {
      headers: headersOf("orders/create", "b54557e4-bdd9-4b37-8a5f-bf7d70bcd043"),
      payload: {
        id: 820_982_911_946_154,
        name: "#1001",
        email: "ada@example.com",
        currency: "EUR",
        total_price: "149.90",
        financial_status: "pending",
        fulfillment_status: null,
        customer: { id: 115_310_627_314, first_name: "Ada", last_name: "Byron", email: "ada@example.com" },
        line_items: [
          { id: 1, title: "Tea set", variant_title: "Blue", quantity: 2, price: "64.95" },
          { id: 2, title: "Gift wrapping", variant_title: null, quantity: 1, price: "20.00" },
        ],
        note: "Please ring twice.",
        shipping_address: { city: "Turin", country: "Italy" },
      },
    },
    "refunds/create": {
      headers: headersOf("refunds/create", "c1d2e3f4-0000-4000-8000-000000000002"),
      payload: {
        id: 890_088_186_047,
        order_id: 820_982_911_946_154,
        note: "Arrived broken",
        transactions: [{ id: 3, kind: "refund", status: "success", amount: "64.95", currency: "EUR" }],
      },
    },
    "products/update": {
      headers: headersOf("products/update", "c1d2e3f4-0000-4000-8000-000000000003"),
      payload: {
        id: 788_032_119_674,
        title: "Tea set",
        vendor: "Example Ceramics",
        status: "active",
        variants: [{ id: 4, title: "Blue", price: "64.95", inventory_quantity: 3, sku: "TEA-BLUE" }],
      },
    },
    "app/uninstalled": {
      headers: headersOf("app/uninstalled", "c1d2e3f4-0000-4000-8000-000000000004"),
      payload: { id: 548_380_009, name: "Example Ceramics", email: "grace@example.com" },
    },
  },
  setup: [
    "For one store: open Settings, Notifications, Webhooks in the admin pages and create a webhook with the format JSON.",
    "For an app: add a [[webhooks.subscriptions]] with the topics and uri to shopify.app.toml and deploy it.",
    "Paste {url} as the URL and choose the topics, such as orders/create.",
    "Put the {secret} of the app in the configuration; for a webhook of the admin pages, the key shown below the list.",
  ],
});

function message({ payload, event, headers }: PresetEvent): string {
  const shop = SHOP.test(headers["x-shopify-shop-domain"] ?? "") ? headers["x-shopify-shop-domain"]! : "";
  const store = labeled("Store", shop);
  const duty = event !== undefined && Object.hasOwn(DUTIES, event) ? DUTIES[event]! : "";
  if (duty !== "") {
    return messageOf(
      titled(duty, lineAt(payload, "name", "customer.email", "shop_domain")),
      labeled("Orders", namesAt(payload, "orders_requested") || namesAt(payload, "orders_to_redact")),
      idLine(payload, { customer: "customer.id", shop: "shop_id", request: "data_request.id" }),
      store,
    );
  }
  const [topic = "", action = ""] = (event ?? "").split("/");
  if (!Object.hasOwn(SUBJECTS, topic))
    return genericMessage({ title: "Shopify", event, object: payload, lines: [store] });
  const [what, page] = SUBJECTS[topic]!;
  const id = lineAt(payload, "id");
  const said = headline(
    what,
    topic === "customers" ? customerOf(payload) : lineAt(payload, "name", "title"),
    phrase("of", amountOf(payload)),
    topic === "customers" ? "" : phrase("from", customerOf(payload)),
    happened(action === "edited" ? "updated" : action),
  );
  return messageOf(
    said,
    itemLines(listAt(payload, "line_items"), itemLine),
    itemLines(listAt(payload, "variants"), variantLine, 5),
    labeled("Payment", words(textAt(payload, "financial_status"))),
    labeled("Shipping", words(textAt(payload, "fulfillment_status", "shipment_status"))),
    labeled(
      "Ships to",
      joinText(", ", lineAt(payload, "shipping_address.city"), lineAt(payload, "shipping_address.country")),
    ),
    labeled("Reason", words(textAt(payload, "cancel_reason", "reason"))),
    labeled("Status", words(textAt(payload, "status"))),
    labeled("Tracking", lineAt(payload, "tracking_url", "tracking_number")),
    labeled("Note", textAt(payload, "note", "order_edit.staff_note")),
    labeled("Changed items", asJson(valueAt(payload, "order_edit.line_items"))),
    labeled("Order", lineAt(payload, "order_id", "order_edit.order_id")),
    labeled("Id", id),
    store,
    page !== "" && shop !== "" && /^\d+$/.test(id) ? `https://${shop}/admin/${page}/${id}` : "",
  );
}

function amountOf(payload: unknown): string {
  const total = decimalAmount(valueAt(payload, "total_price"), valueAt(payload, "currency"));
  if (total !== "") return total;
  const paid = decimalAmount(valueAt(payload, "transactions[0].amount"), valueAt(payload, "transactions[0].currency"));
  return paid === "" ? decimalAmount(valueAt(payload, "amount"), valueAt(payload, "currency")) : paid;
}

function customerOf(payload: unknown): string {
  const first = lineAt(payload, "customer.first_name", "first_name", "billing_address.first_name");
  const last = lineAt(payload, "customer.last_name", "last_name", "billing_address.last_name");
  return personText(headline(first, last), lineAt(payload, "email", "customer.email", "contact_email"));
}

function itemLine(item: unknown): string {
  const title = titled(lineAt(item, "title", "name"), lineAt(item, "variant_title"));
  return title === "" ? "" : joinText(" × ", lineAt(item, "quantity"), title);
}

function variantLine(variant: unknown): string {
  const price = decimalAmount(valueAt(variant, "price"), "");
  const stock = lineAt(variant, "inventory_quantity");
  const facts = joinText(", ", phrase("price", price), stock === "" ? "" : `${stock} in stock`);
  return capitalized(titled(lineAt(variant, "title", "sku"), facts));
}

function headersOf(topic: string, id: string): Readonly<Record<string, string>> {
  return {
    "x-shopify-topic": topic,
    "x-shopify-shop-domain": "example-ceramics.myshopify.com",
    "x-shopify-api-version": "2026-10",
    "x-shopify-webhook-id": id,
    "x-shopify-event-id": "98880550-7158-44d4-b7cd-2c97c8a091b5",
    "x-shopify-triggered-at": "2026-11-20T12:00:00.000000000Z",
  };
}
