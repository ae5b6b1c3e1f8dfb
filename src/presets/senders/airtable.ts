import { labeled, messageOf, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { idLine, lineAt } from "../message/headline.ts";
import { timeText } from "../message/value-text.ts";

/** Notifications of Airtable: they say that a base has changed, and its API says what. */
export const airtable = definePreset({
  name: "airtable",
  title: "Airtable",
  documentation: "https://airtable.com/developers/web/api/webhooks-overview",
  auth: {
    scheme: "signature",
    from: "header:x-airtable-content-mac",
    prefix: "hmac-sha256=",
    keyEncoding: "base64",
    content: "{body}",
  },
  secret: { label: "macSecretBase64", madeBy: "sender" },
  event: ({ payload }) => (lineAt(payload, "base.id") === "" ? undefined : "base.changed"),
  eventWhere: "base.changed, if there is a base",
  deliveryId: { from: ["body:webhook.id", "body:timestamp"], signed: true },
  ignored: "nothing. A notification names no actor; the mapping's session key can be {{base.id}} to coalesce many",
  success: {
    statuses: "200 or 204",
    otherwise: "tries again with growing waits, and turns the notifications of the webhook off when that fails",
  },
  answer: { status: 200 },
  mapping: { name: "Airtable" },
  message({ payload }) {
    const [base, webhook] = [lineAt(payload, "base.id"), lineAt(payload, "webhook.id")];
    const url = `https://api.airtable.com/v0/bases/${base}/webhooks/${webhook}/payloads`;
    return messageOf(
      "An Airtable base has changed",
      labeled("Changes", base === "" || webhook === "" ? "" : `GET ${url} with the cursor after the last one read`),
      labeled("At", timeText(valueAt(payload, "timestamp"))),
      idLine(payload, { base: "base.id", webhook: "webhook.id" }),
    );
  },
  samples: {
    notification: {
      payload: {
        base: { id: "app00000000000000" },
        webhook: { id: "ach00000000000000" },
        timestamp: "2026-11-20T11:59:58.663Z",
      },
    },
  },
  setup: [
    'Make the webhook: POST https://api.airtable.com/v0/bases/<base id>/webhooks with {"notificationUrl":"{url}","specification":{"options":{"filters":{"dataTypes":["tableData"]}}}} and a token with the scope webhook:manage.',
    "Copy the {secret} of the answer, which has it once, into hooks.airtable.secret.",
    "A webhook ends after 7 days, unless its payloads are read or it is refreshed: POST .../webhooks/<webhook id>/refresh.",
  ],
});
