import { definePreset } from "../../define-preset.ts";
import { gitlabWebhook } from "./gitlab-webhook.ts";

/**
 * Webhooks of GitLab projects, groups and instances with a secret token, which GitLab sends as it is.
 * Nothing is signed; the preset `gitlab-signing` is for webhooks with a signing token.
 */
export const gitlab = definePreset({
  name: "gitlab",
  title: "GitLab (secret token)",
  ...gitlabWebhook,
  auth: { scheme: "secret", from: "header:x-gitlab-token" },
  secret: { label: "Secret token", madeBy: "owner" },
  deliveryId: { from: "header:idempotency-key", signed: false },
  setup: [
    "Open the project's (or group's) Settings, then Webhooks, and choose Add new webhook.",
    "URL: {url}",
    "{secret}: generate one, for example with openssl rand -hex 32, and set the same as hooks.gitlab.secret.",
    "Under Trigger tick the events, keep Enable SSL verification ticked, and choose Add webhook.",
    "A 4xx answer turns the webhook off: use Test, then push events, to turn it on again.",
  ],
});
