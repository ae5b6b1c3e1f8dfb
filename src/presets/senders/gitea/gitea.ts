import { definePreset } from "../../define-preset.ts";
import { forgeWebhook } from "./forge-webhook.ts";

/** Webhooks of Gitea repositories, organizations and instances, of the type Gitea. */
export const gitea = definePreset({
  name: "gitea",
  title: "Gitea",
  documentation: "https://docs.gitea.com/usage/webhooks",
  ...forgeWebhook("Gitea"),
  setup: [
    "Open the repository's (or organization's) Settings, then Webhooks, and choose Add Webhook, Gitea.",
    "Target URL: {url}, HTTP Method: POST, POST Content Type: application/json.",
    "{secret}: generate one, for example with openssl rand -hex 32, and set the same as hooks.gitea.secret. Without one the signature is empty.",
    "Choose the events under Trigger On, keep Active ticked, and choose Add Webhook.",
  ],
});
