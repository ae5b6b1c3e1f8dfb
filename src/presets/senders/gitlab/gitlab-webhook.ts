import type { PresetDefinition } from "../../define-preset.ts";
import { authorsAt } from "../../event-fields.ts";
import { valueAt, wholeTextAt } from "../../../core/payload-text.ts";
import { gitlabEvent, gitlabSender } from "./gitlab-event.ts";
import { gitlabMessage } from "./gitlab-message.ts";
import { gitlabSamples } from "./gitlab-samples.ts";

const AUTHORS = ["object_attributes", "issue", "merge_request", "snippet"].map((at) => ({ id: `${at}.author_id` }));

/** A description may have a mebibyte, and an update carries the former one too. */
const MAX_BODY_BYTES = 8_388_608;

/** The webhook of GitLab, for both of its ways to prove its origin. */
export const gitlabWebhook = {
  text: "markdown",
  documentation: "https://docs.gitlab.com/user/project/integrations/webhooks/",
  event: gitlabEvent,
  eventWhere: "object_kind or event_name, with the action or the status",
  sender: gitlabSender,
  authors: ({ payload }) => authorsAt(payload, AUTHORS),
  vouchesForActors: true,
  written: ({ payload }) => {
    const at = "object_attributes";
    const [note, title, description] = ["note", "title", "description"].map((key) =>
      wholeTextAt(payload, `${at}.${key}`),
    );
    return valueAt(payload, at) === undefined ? undefined : note || [title, description].join("\n");
  },
  message: ({ payload }) => gitlabMessage(payload),
  mapping: { name: "GitLab", links: ["gitlab.com"], maxBodyBytes: MAX_BODY_BYTES },
  success: {
    statuses: "2xx, within 10 seconds",
    otherwise: "disables the webhook for a time after 4 failures in a row, permanently after 40",
  },
  ignored: "events of access tokens' bot users, service accounts and GitLab's own bots",
  samples: gitlabSamples,
} as const satisfies Partial<PresetDefinition>;
