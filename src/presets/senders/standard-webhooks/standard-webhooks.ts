import { definePreset } from "../../define-preset.ts";
import { labeled, messageOf, textAt, valueAt } from "../../../core/payload-text.ts";
import { dataLines, withoutKeys } from "../../message/data-lines.ts";
import { lineAt } from "../../message/headline.ts";
import { whsecSender } from "./whsec-sender.ts";

/** Any sender that follows Standard Webhooks 1.0.0 and has no preset of its own. */
export const standardWebhooks = definePreset({
  name: "standard-webhooks",
  title: "Standard Webhooks",
  documentation: "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
  ...whsecSender("webhook", "Signing secret"),
  event: "body:type",
  mapping: { name: "Webhook" },
  message: ({ payload, headers }) =>
    messageOf(
      `Webhook: ${lineAt(payload, "type") || "new event"}`,
      dataLines(valueAt(payload, "data") ?? withoutKeys(payload, "type", "timestamp")),
      labeled("Time", textAt(payload, "timestamp")),
      labeled("Id", textAt(headers, "webhook-id")),
    ),
  success: {
    statuses: "2xx",
    otherwise: "depends on the sender, most try again for days; 410 may disable the endpoint",
  },
  ignored: "nothing. The specification has no mark for bots",
  samples: {
    "contact.created": {
      payload: {
        type: "contact.created",
        timestamp: "2026-11-20T11:59:58.123456Z",
        data: { id: "1f81eb52-5198-4599-803e-771906343485", name: "Ada Lovelace", email: "ada@example.com" },
      },
    },
    "invoice.paid": {
      payload: {
        type: "invoice.paid",
        timestamp: "2026-11-20T11:59:58.123456Z",
        data: { invoice: { id: "inv_1007", number: "2026-1007" }, amount: 4_250, currency: "EUR", note: null },
      },
    },
    thin: { payload: { type: "report.ready", timestamp: "2026-11-20T11:59:58Z", data: { id: "rep_17" } } },
  },
  setup: [
    "Add {url} as an endpoint in the sender's settings for webhooks.",
    "Copy the endpoint's {secret} (whsec_...) and set it as hooks.standard-webhooks.secret.",
  ],
});
