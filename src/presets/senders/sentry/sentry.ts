import { definePreset } from "../../define-preset.ts";
import { eventActor } from "../../event-fields.ts";
import { textAt, valueAt } from "../../../core/payload-text.ts";
import type { EventActor, EventAuthor, PresetContext } from "../../preset.ts";
import { lineAt } from "../../message/headline.ts";
import { sentryMessage } from "./sentry-message.ts";
import { sentrySamples } from "./sentry-samples.ts";

/** An alert carries the whole event with its stack trace. */
const MAX_BODY_BYTES = 4_194_304;

/**
 * Webhooks of Sentry integrations. Sentry waits one second for the answer, and a thousand timeouts within a
 * day unsubscribe the integration. Its time header is not signed, so nothing is read from it.
 */
export const sentry = definePreset({
  name: "sentry",
  title: "Sentry",
  documentation: "https://docs.sentry.io/organization/integrations/integration-platform/webhooks/",
  auth: { from: "header:sentry-hook-signature" },
  secret: { label: "Client Secret", madeBy: "sender", minLength: 32 },
  event: ["header:sentry-hook-resource", "body:action"],
  deliveryId: { from: "header:request-id", signed: false },
  sender: senderOf,
  authors: authorsOf,
  vouchesForActors: true,
  // The event of an installation carries a code that could be changed into a token.
  skip: ({ event, payload }) =>
    event?.split(".", 1)[0] === "installation" || textAt(payload, "data.installation.uuid") !== ""
      ? "an integration was installed or removed"
      : undefined,
  message: ({ event, payload }) => sentryMessage(event, payload),
  mapping: { name: "Sentry", links: ["*.sentry.io", "sentry.io"], maxBodyBytes: MAX_BODY_BYTES },
  success: {
    statuses: "2xx, within a second",
    otherwise: "does not try again; disables the webhook after many timeouts",
  },
  ignored: "events of other applications, installations",
  samples: sentrySamples,
  setup: [
    "Open Sentry's Settings, Custom Integrations (Developer Settings), and create an Internal Integration.",
    "Webhook URL: {url}",
    "Tick Alert Rule Action to use it in alerts, and under Webhooks the resources (issue, error, comment).",
    "Save, copy the {secret} from the page, and set it as hooks.sentry.secret.",
    "Sentry waits one second for an answer: keep the gateway near, not behind a slow tunnel.",
  ],
});

/** The text of an error is what a program was given, often by strangers, whoever resolves or assigns it. */
function authorsOf({ payload }: PresetContext): readonly EventAuthor[] {
  const isOfError = ["issue", "event", "error", "metric_alert"].some(
    (key) => valueAt(payload, `data.${key}`) !== undefined,
  );
  return isOfError ? [{}] : [];
}

/** An event that Sentry itself causes is news and no automation, so only other applications are bots. */
function senderOf({ payload }: PresetContext): EventActor | undefined {
  const name = lineAt(payload, "actor.name", "actor.id");
  const id = lineAt(payload, "actor.id");
  return eventActor(name, id, textAt(payload, "actor.type") === "application" && id !== "sentry");
}
