import { definePreset } from "../define-preset.ts";
import { labeled, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { PresetContext } from "../preset.ts";
import { dataLines, withoutKeys } from "../message/data-lines.ts";
import { lineAt } from "../message/headline.ts";
import { whsecSender } from "./standard-webhooks/whsec-sender.ts";

/** The place of the event type's name; users of Svix choose it. */
const NAMES = ["event_type", "eventType", "type", "event"] as const;

/** Any sender whose webhooks Svix delivers and that has no preset of its own. */
export const svix = definePreset({
  name: "svix",
  title: "Svix",
  documentation: "https://docs.svix.com/receiving/verifying-payloads/how",
  ...whsecSender("svix", "Signing secret"),
  event: (context) => eventOf(context) || undefined,
  eventWhere: "event_type, eventType, type or event",
  mapping: { name: "Svix" },
  message: (event) =>
    messageOf(
      `Webhook: ${eventOf(event) || "new event"}`,
      dataLines(valueAt(event.payload, "data") ?? withoutKeys(event.payload, ...NAMES)),
      labeled("Id", textAt(event.headers, "svix-id")),
    ),
  success: {
    statuses: "2xx, within 15 seconds",
    otherwise: "tries 7 times in about 28 hours, and disables the endpoint after 5 days of failures",
  },
  ignored: "nothing. Svix marks no bots",
  samples: {
    "invoice.paid": {
      payload: { type: "invoice.paid", data: { id: "inv_1007", customer: "Ada Lovelace", amount: 4_250 } },
    },
    "message.received": {
      payload: {
        type: "event",
        event_type: "message.received",
        event_id: "evt_5f2c9a",
        message: { from: "Ada <ada@example.com>", subject: "Hello", preview: "I wanted to ask" },
      },
    },
    "message.attempt.exhausted": {
      payload: {
        type: "message.attempt.exhausted",
        data: {
          appId: "app_1srOrx2ZWZBpBUvZwXKQmoEYga2",
          endpointId: "ep_1srOrx2ZWZBpBUvZwXKQmoEYga2",
          msgId: "msg_1007",
        },
      },
    },
  },
  setup: [
    "Add {url} as an endpoint in the sender's webhook portal (Endpoints > Add Endpoint).",
    "Open the endpoint, reveal its {secret} (whsec_...) and set it as hooks.svix.secret.",
    "If the sender's requests carry webhook-id instead of svix-id, use the preset standard-webhooks.",
  ],
});

function eventOf({ payload }: PresetContext): string {
  return lineAt(payload, ...NAMES);
}
