import { definePreset } from "../../define-preset.ts";
import { labeled, messageOf, textAt } from "../../../core/payload-text.ts";
import { headline, lineAt, phrase } from "../../message/headline.ts";
import { googlePush } from "./google-push.ts";

const DATA = "message.data";

function notification(messageId: string, emailAddress: string, historyId: number | string) {
  return {
    payload: {
      message: {
        data: Buffer.from(JSON.stringify({ emailAddress, historyId })).toString("base64url"),
        messageId,
        message_id: messageId,
        publishTime: "2026-11-20T11:59:58.123Z",
        publish_time: "2026-11-20T11:59:58.123Z",
      },
      subscription: "projects/example-project/subscriptions/gmail-push",
    },
  };
}

/**
 * Changes of a Gmail mailbox as Google pushes them through Pub/Sub: only the address and a history id;
 * what has changed is read with `users.history.list`. The `watch` lapses after seven days.
 */
export const gmailPush = definePreset({
  name: "gmail-push",
  title: "Gmail (Pub/Sub push)",
  documentation: "https://developers.google.com/workspace/gmail/api/guides/push",
  ...googlePush,
  event: ({ payload }) => (textAt(payload, `${DATA}.historyId`) === "" ? undefined : "mailbox.changed"),
  eventWhere: "mailbox.changed, if there is a history id",
  skip: ({ payload }) =>
    textAt(payload, `${DATA}.historyId`) === "" ? "it holds no history id, so nothing can be read from it" : undefined,
  mapping: { name: "Gmail", contentSource: "Email" },
  message({ payload }) {
    const historyId = textAt(payload, `${DATA}.historyId`);
    return messageOf(
      headline("Gmail: something changed in the mailbox", phrase("of", lineAt(payload, `${DATA}.emailAddress`))),
      labeled("History id", historyId),
      "What changed is in the Gmail API: users.history.list from the history id seen before this one.",
    );
  },
  success: {
    statuses: "102, 200, 201, 202 or 204",
    otherwise: "tries again with growing delays until the message expires (7 days unless set otherwise)",
  },
  ignored: "notifications without a history id",
  samples: {
    new_mail: notification("13254678901234571", "ada@example.com", 9_876_543_210),
    history_id_as_text: notification("13254678901234572", "grace@example.com", "9876543299"),
  },
  setup: [
    "Make the topic and let Gmail publish to it: gcloud pubsub topics create gmail && gcloud pubsub topics add-iam-policy-binding gmail --member=serviceAccount:gmail-api-push@system.gserviceaccount.com --role=roles/pubsub.publisher",
    "Make a service account for the tokens: gcloud iam service-accounts create reveille-push",
    "Make the subscription: gcloud pubsub subscriptions create gmail-push --topic=gmail --push-endpoint={url} --push-auth-service-account=reveille-push@<project>.iam.gserviceaccount.com --push-auth-token-audience={url}",
    "Set hooks.gmail-push.audience to {url} and hooks.gmail-push.serviceAccount to the e-mail address of the service account.",
    'Start the watch, and again every day since it lapses after seven: POST https://gmail.googleapis.com/gmail/v1/users/me/watch with {"topicName":"projects/<project>/topics/gmail","labelIds":["INBOX"]}',
  ],
});
