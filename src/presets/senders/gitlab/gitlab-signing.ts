import { definePreset } from "../../define-preset.ts";
import { whsecSender } from "../standard-webhooks/whsec-sender.ts";
import { gitlabWebhook } from "./gitlab-webhook.ts";

/**
 * Webhooks of GitLab with a signing token: Standard Webhooks. GitLab sends `webhook-id` and
 * `webhook-timestamp` with every webhook; `webhook-signature` only with these.
 */
export const gitlabSigning = definePreset({
  name: "gitlab-signing",
  title: "GitLab (signing token)",
  ...gitlabWebhook,
  ...whsecSender("webhook", "Signing token", ["whsec_dGVzdHRlc3R0ZXN0dGVzdHRlc3R0ZXN0dGVzdHRlc3Q="]),
  setup: [
    "Open the project's (or group's) Settings, then Webhooks, and choose Add new webhook.",
    "URL: {url}",
    "{secret}: have one made (it begins with whsec_), and set it as hooks.gitlab-signing.secret.",
    "Under Trigger tick the events, keep Enable SSL verification ticked, and choose Add webhook.",
    "A 4xx answer turns the webhook off: use Test, then push events, to turn it on again.",
  ],
});
