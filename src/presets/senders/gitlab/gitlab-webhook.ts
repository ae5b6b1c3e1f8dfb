import type { PresetDefinition } from "../../define-preset.ts";
import { gitlabEvent, gitlabSender } from "./gitlab-event.ts";
import { gitlabMessage } from "./gitlab-message.ts";
import { gitlabSamples } from "./gitlab-samples.ts";

/** A description may have a mebibyte, and an update carries the former one too. */
const MAX_BODY_BYTES = 8_388_608;

/** What GitLab sends, however the webhook proves where it comes from. */
export const gitlabWebhook = {
  documentation: "https://docs.gitlab.com/user/project/integrations/webhooks/",
  event: gitlabEvent,
  eventWhere: "object_kind or event_name, with the action or the status",
  sender: gitlabSender,
  message: ({ payload }) => gitlabMessage(payload),
  mapping: { name: "GitLab", maxBodyBytes: MAX_BODY_BYTES },
  samples: gitlabSamples,
} as const satisfies Partial<PresetDefinition>;
