import { definePreset } from "../../define-preset.ts";
import { forgeWebhook } from "./forge-webhook.ts";

/** Webhooks of Forgejo (Codeberg, for example), of the type Forgejo. They carry Gitea's headers as well. */
export const forgejo = definePreset({
  name: "forgejo",
  title: "Forgejo",
  documentation: "https://forgejo.org/docs/latest/user/webhooks/",
  ...forgeWebhook("Forgejo"),
  setup: [
    "Open the repository's (or organization's) Settings, then Webhooks, and choose Add webhook, Forgejo.",
    "Target URL: {url}, HTTP method: POST, POST content type: application/json.",
    "{secret}: generate one, for example with openssl rand -hex 32, and set the same as hooks.forgejo.secret. Without one the signature is empty.",
    "Choose the events under Trigger on, keep Active ticked, and choose Add webhook.",
  ],
});
