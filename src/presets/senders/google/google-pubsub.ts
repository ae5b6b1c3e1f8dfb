import { definePreset } from "../../define-preset.ts";
import { labeled, messageOf, textAt, valueAt } from "../../../core/payload-text.ts";
import type { PresetContext } from "../../preset.ts";
import { dataLines } from "../../message/data-lines.ts";
import { bodyAt, headline, lineAt, phrase } from "../../message/headline.ts";
import { googlePush } from "./google-push.ts";

/** A message has up to 10 MB, in base64. One that is refused comes again and again. */
const MAX_BODY_BYTES = 16_777_216;

/** Messages of a Google Cloud Pub/Sub push subscription with authentication; bodies are wrapped (the default). */
export const googlePubsub = definePreset({
  name: "google-pubsub",
  title: "Google Cloud Pub/Sub",
  documentation: "https://docs.cloud.google.com/pubsub/docs/push",
  ...googlePush,
  event: eventOf,
  eventWhere: "eventType or ce-type of the attributes, or the state of the incident",
  mapping: { name: "Pub/Sub", maxBodyBytes: MAX_BODY_BYTES },
  message({ payload, event }) {
    const data = valueAt(payload, "message.data");
    return messageOf(
      headline(`Pub/Sub: ${event ?? "message"}`, phrase("from", lastPart(lineAt(payload, "subscription")))),
      valueAt(data, "incident") === undefined ? bodyAt(data, "") || dataLines(data) : incidentLines(data),
      dataLines(valueAt(payload, "message.attributes")),
      labeled("Message id", textAt(payload, "message.messageId", "message.message_id")),
    );
  },
  success: {
    statuses: "102, 200, 201, 202 or 204",
    otherwise: "tries again with growing delays until the message expires (7 days unless set otherwise)",
  },
  ignored: "nothing. Pub/Sub marks no bots",
  samples: {
    data: {
      payload: {
        message: {
          data: Buffer.from(JSON.stringify({ order: "A-1007", status: "paid", total: 42.5 })).toString("base64"),
          attributes: { region: "eu" },
          messageId: "13254678901234567",
          message_id: "13254678901234567",
          publishTime: "2026-11-20T11:59:58.123Z",
          publish_time: "2026-11-20T11:59:58.123Z",
        },
        subscription: "projects/example-project/subscriptions/orders-push",
      },
    },
    text: {
      payload: {
        message: {
          data: Buffer.from("The nightly export is ready.").toString("base64"),
          messageId: "13254678901234568",
          publishTime: "2026-11-20T11:59:58.123Z",
        },
        subscription: "projects/example-project/subscriptions/exports-push",
      },
    },
    storage_object: {
      payload: {
        message: {
          attributes: {
            eventType: "OBJECT_FINALIZE",
            bucketId: "example-invoices",
            objectId: "2026/11/invoice 17.pdf",
          },
          data: Buffer.from(JSON.stringify({ name: "2026/11/invoice 17.pdf", size: "18231" })).toString("base64"),
          messageId: "13254678901234569",
          publishTime: "2026-11-20T11:59:58.123Z",
        },
        subscription: "projects/example-project/subscriptions/invoices-push",
      },
    },
    monitoring_incident: {
      payload: {
        message: {
          data: Buffer.from(
            JSON.stringify({
              incident: {
                incident_id: "0.mabc12xyz",
                policy_name: "High latency",
                state: "open",
                summary: "Request latency of checkout is above 500 ms.",
                resource_name: "checkout",
                url: "https://console.cloud.google.com/monitoring/alerting/incidents/0.mabc12xyz?project=example-project",
              },
              version: "1.2",
            }),
          ).toString("base64"),
          messageId: "13254678901234570",
          publishTime: "2026-11-20T11:59:58.123Z",
        },
        subscription: "projects/example-project/subscriptions/alerts-push",
      },
    },
  },
  setup: [
    "Make a service account for the tokens: gcloud iam service-accounts create reveille-push",
    "Make the subscription: gcloud pubsub subscriptions create reveille --topic=<topic> --push-endpoint={url} --push-auth-service-account=reveille-push@<project>.iam.gserviceaccount.com --push-auth-token-audience={url}",
    "Leave payload unwrapping (--push-no-wrapper) off.",
    "Set hooks.google-pubsub.audience to {url} and hooks.google-pubsub.serviceAccount to the e-mail address of the service account.",
  ],
});

function eventOf({ payload }: PresetContext): string | undefined {
  const name = lineAt(payload, "message.attributes.eventType", "message.attributes.ce-type");
  if (name !== "") return name;
  const state = lineAt(payload, "message.data.incident.state");
  return state === "" ? undefined : `incident.${state}`;
}

/** An alert of Cloud Monitoring. */
function incidentLines(data: unknown): readonly string[] {
  return [
    textAt(data, "incident.summary"),
    labeled("Policy", textAt(data, "incident.policy_name")),
    labeled("Resource", textAt(data, "incident.resource_display_name", "incident.resource_name")),
    textAt(data, "incident.url"),
  ];
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}
