import Type from "typebox";
import type { AuthInput } from "../../../config/auth/schema.ts";
import type { PresetSettings } from "../../../config/preset.ts";
import { itemLines, joinText, labeled, listAt, messageOf, textAt, valueAt } from "../../../core/payload-text.ts";
import { definePreset } from "../../define-preset.ts";
import { eventActor } from "../../event-fields.ts";
import type { PresetContext } from "../../preset.ts";
import { headline, lineAt, phrase } from "../../message/headline.ts";
import { asJson, dataLines } from "../../message/data-lines.ts";

const CHAT = "chat@system.gserviceaccount.com";

/**
 * A token of Chat itself when the audience is a project's number, or an ID token of Google for an endpoint's URL: of
 * Chat's account, or of the app's own. Only the exact account counts, since every app can be given any URL.
 */
function authFor({ audience, serviceAccount }: PresetSettings): AuthInput {
  const own = {
    scheme: "jwt",
    from: "header:authorization",
    prefix: "Bearer ",
    audience: typeof audience === "string" ? audience : "",
  } as const;
  if (/^[0-9]+$/u.test(own.audience)) {
    return { ...own, issuer: [CHAT], jwksUrl: `https://www.googleapis.com/service_accounts/v1/jwk/${CHAT}` };
  }
  return {
    ...own,
    issuer: ["https://accounts.google.com", "accounts.google.com"],
    jwksUrl: "https://www.googleapis.com/oauth2/v3/certs",
    claims: { email: typeof serviceAccount === "string" ? serviceAccount : CHAT, email_verified: true },
  };
}

/** Names of the events of a Chat add-on, by the key of their data. */
const ADD_ON_EVENTS: Readonly<Record<string, string>> = {
  messagePayload: "MESSAGE",
  addedToSpacePayload: "ADDED_TO_SPACE",
  removedFromSpacePayload: "REMOVED_FROM_SPACE",
  buttonClickedPayload: "CARD_CLICKED",
  appCommandPayload: "APP_COMMAND",
};

/** Messages to a Google Chat app, and clicks on its cards; also of apps that are Workspace add-ons. */
export const googleChat = definePreset({
  name: "google-chat",
  title: "Google Chat",
  documentation: "https://developers.google.com/workspace/chat/verify-requests-from-chat",
  auth: authFor,
  settings: Type.Object(
    {
      audience: Type.String({
        minLength: 1,
        maxLength: 1_024,
        description: "Authentication audience of the app: the project's number, or the URL of this route.",
      }),
      serviceAccount: Type.Optional(
        Type.String({
          pattern: "^[^@\\s]+@[^@\\s]+$",
          maxLength: 320,
          title: "the e-mail address of a service account",
          description:
            "Service account that signs the requests of an app that is a Workspace add-on, as the app's Connection settings show it. Absent: that of Chat itself.",
        }),
      ),
    },
    { additionalProperties: false },
  ),
  event: "body:type",
  deliveryId: { from: deliveryIdOf, where: "body:message.name, or what was done when and by whom", signed: false },
  sender({ payload }) {
    const name = lineAt(payload, "user.displayName", "user.email", "user.name");
    return eventActor(name, lineAt(payload, "user.email", "user.name"), textAt(payload, "user.type") === "BOT");
  },
  vouchesForActors: true,
  unwrap: ofAddOn,
  // An empty message: Chat shows nothing until the agent replies.
  answer: { status: 200, contentType: "application/json", body: "{}" },
  success: { statuses: "200, within 30 seconds", otherwise: "shows that the app did not respond" },
  ignored: "events whose user is a bot (type BOT)",
  mapping: { name: "Google Chat" },
  message({ payload, event }) {
    const who = lineAt(payload, "user.displayName", "user.email") || "someone";
    const space = lineAt(payload, "space.displayName");
    const text = textAt(payload, "message.argumentText", "message.text");
    return messageOf(
      headline(`Google Chat: ${who}`, saidBy(event), phrase("in", space)),
      text,
      ...listAt(payload, "message.attachment").map((file) => labeled("Attachment", lineAt(file, "contentName"))),
      event === "MESSAGE" ? "" : dataLines(valueAt(payload, "common.parameters")),
      inputLines(valueAt(payload, "common.formInputs")),
      labeled("Action", lineAt(payload, "common.invokedFunction", "action.actionMethodName")),
      labeled("Space", lineAt(payload, "space.name")),
      labeled("Thread", lineAt(payload, "message.thread.name")),
      labeled("Message", lineAt(payload, "message.name")),
      labeled("User", lineAt(payload, "user.name")),
    );
  },
  samples: {
    MESSAGE: {
      payload: {
        type: "MESSAGE",
        eventTime: "2026-11-20T11:59:50.250879Z",
        message: {
          name: "spaces/AAAAAAAAAAA/messages/CCCCCCCCCCC",
          sender: { name: "users/12345678901234567890", displayName: "Ada Byron", type: "HUMAN" },
          createTime: "2026-11-20T11:59:50.250879Z",
          text: "@Reveille restart the staging server",
          argumentText: " restart the staging server",
          thread: { name: "spaces/AAAAAAAAAAA/threads/BBBBBBBBBBB" },
        },
        user: {
          name: "users/12345678901234567890",
          displayName: "Ada Byron",
          email: "ada@example.com",
          type: "HUMAN",
        },
        space: { name: "spaces/AAAAAAAAAAA", displayName: "Operations", type: "ROOM", spaceType: "SPACE" },
      },
    },
    ADDED_TO_SPACE: {
      payload: {
        type: "ADDED_TO_SPACE",
        eventTime: "2026-11-20T11:59:51.250879Z",
        user: { name: "users/12345678901234567890", displayName: "Ada Byron", email: "ada@example.com", type: "HUMAN" },
        space: { name: "spaces/AAAAAAAAAAA", displayName: "Operations", type: "ROOM", spaceType: "SPACE" },
      },
    },
    add_on_message: {
      payload: {
        commonEventObject: { hostApp: "CHAT", platform: "WEB" },
        chat: {
          user: {
            name: "users/12345678901234567890",
            displayName: "Ada Byron",
            email: "ada@example.com",
            type: "HUMAN",
          },
          eventTime: "2026-11-20T11:59:52.250879Z",
          messagePayload: {
            space: { name: "spaces/AAAAAAAAAAA", displayName: "Operations", spaceType: "SPACE" },
            message: {
              name: "spaces/AAAAAAAAAAA/messages/DDDDDDDDDDD",
              text: "Thanks",
              thread: { name: "spaces/AAAAAAAAAAA/threads/BBBBBBBBBBB" },
            },
          },
        },
      },
    },
  },
  setup: [
    "In the Google Cloud console open the Google Chat API, Configuration: under Connection settings choose HTTP endpoint URL and paste {url}.",
    "Choose the Authentication audience, and set hooks.google-chat.audience to the same: {url}, or the project's number. Where there is no choice, it is {url}.",
    "If the Connection settings show a Service account email, as they do for an app that is a Workspace add-on, set it as hooks.google-chat.serviceAccount.",
    "Let people find the app under Visibility, and add it to a space. Chat's token covers nothing of the message: use https.",
  ],
});

/** Clicks come with the message that holds the card, and it is the same for all of them. */
function deliveryIdOf({ payload }: PresetContext): string | undefined {
  const [type, time] = [lineAt(payload, "type"), lineAt(payload, "eventTime")];
  const message = textAt(payload, "message.name");
  if (type === "MESSAGE" || type === "ADDED_TO_SPACE") return message || undefined;
  return time === "" ? undefined : joinText("/", type, time, textAt(payload, "user.name"), message);
}

/** An add-on's event in the form of the others. */
function ofAddOn(payload: unknown): unknown {
  const chat = valueAt(payload, "chat");
  const key = Object.keys(ADD_ON_EVENTS).find((each) => valueAt(chat, each) !== undefined);
  if (key === undefined) return payload;
  const data = valueAt(chat, key);
  return {
    type: ADD_ON_EVENTS[key],
    eventTime: valueAt(chat, "eventTime"),
    user: valueAt(chat, "user"),
    common: valueAt(payload, "commonEventObject"),
    ...(typeof data === "object" ? data : {}),
  };
}

/** What was entered in a card or a dialog, by the name of the field. */
function inputLines(inputs: unknown): readonly string[] {
  if (typeof inputs !== "object" || inputs === null) return [];
  return itemLines(Object.entries(inputs), (field) => {
    const input = valueAt(field, "[1]");
    const chosen = listAt(input, "stringInputs.value").map((value) => lineAt(value, ""));
    return labeled(lineAt(field, "[0]"), joinText(", ", ...chosen) || asJson(input));
  });
}

function saidBy(event: string | undefined): string {
  switch (event) {
    case "MESSAGE":
      return "wrote";
    case "ADDED_TO_SPACE":
      return "added the app";
    case "REMOVED_FROM_SPACE":
      return "removed the app";
    case "CARD_CLICKED":
      return "clicked on a card";
    default:
      return "used the app";
  }
}
