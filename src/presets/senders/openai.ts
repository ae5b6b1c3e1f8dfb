import { definePreset } from "../define-preset.ts";
import { labeled, listAt, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { dataLines } from "../message/data-lines.ts";
import { headline, lineAt, spoken } from "../message/headline.ts";
import { whsecSender } from "./standard-webhooks/whsec-sender.ts";

/** The place of an event's object, by the beginning of the event's name. */
const PLACES: readonly (readonly [string, string])[] = [
  ["response.", "https://api.openai.com/v1/responses/"],
  ["batch.", "https://api.openai.com/v1/batches/"],
  ["fine_tuning.job.", "https://api.openai.com/v1/fine_tuning/jobs/"],
  ["video.", "https://api.openai.com/v1/videos/"],
];

const ID = /^[A-Za-z0-9_-]+$/;

function event(type: string, data: object) {
  return {
    payload: { id: `evt_${type.replaceAll(".", "_")}_1`, object: "event", created_at: 1_763_640_000, type, data },
  };
}

/** Events of an OpenAI project: finished responses, batches and jobs, incoming calls. They carry ids, not results. */
export const openai = definePreset({
  name: "openai",
  title: "OpenAI",
  documentation: "https://platform.openai.com/docs/guides/webhooks",
  ...whsecSender("webhook", "Signing secret"),
  event: "body:type",
  mapping: { name: "OpenAI" },
  message({ payload }) {
    const type = lineAt(payload, "type");
    const data = valueAt(payload, "data");
    const first = headline(`OpenAI: ${spoken(type) || "new event"}`, lineAt(data, "id", "call_id", "session_id"));
    if (type === "realtime.call.incoming") {
      return messageOf(first, labeled("From", sipHeader(data, "from")), labeled("To", sipHeader(data, "to")));
    }
    const link = linkOf(type, textAt(data, "id"));
    return messageOf(first, link === "" ? dataLines(data) : labeled("Read it at", link));
  },
  success: { statuses: "2xx", otherwise: "tries again for up to 72 hours" },
  ignored: "nothing. OpenAI marks no bots",
  samples: {
    "response.completed": event("response.completed", { id: "resp_1007example" }),
    "batch.failed": event("batch.failed", { id: "batch_1007example" }),
    "fine_tuning.job.succeeded": event("fine_tuning.job.succeeded", { id: "ftjob_1007example" }),
    "realtime.call.incoming": event("realtime.call.incoming", {
      call_id: "rtc_1007example",
      sip_headers: [
        { name: "From", value: "sip:+15550100@sip.example.com" },
        { name: "To", value: "sip:+15550199@sip.example.com" },
      ],
    }),
  },
  setup: [
    "Open the project's settings at https://platform.openai.com/settings/project/webhooks: Create, paste {url} and choose the events.",
    "Copy the {secret} (whsec_...), which is shown once, and set it as hooks.openai.secret.",
  ],
});

function linkOf(type: string, id: string): string {
  const place = PLACES.find(([beginning]) => type.startsWith(beginning));
  return place !== undefined && ID.test(id) ? place[1] + id : "";
}

function sipHeader(data: unknown, name: string): string {
  const header = listAt(data, "sip_headers").find((candidate) => textAt(candidate, "name").toLowerCase() === name);
  return lineAt(header, "value");
}
