import { joinText, labeled, listAt, memberOf, textAt, valueAt } from "../../../core/payload-text.ts";
import { asJson, dataLines } from "../../message/data-lines.ts";
import { headline, idLine, lineAt } from "../../message/headline.ts";

/** One thing of a batch: a message, a receipt, a change. Texts are empty where there is nothing. */
export interface MetaUpdate {
  /** For the event's name: `message`, `status`, `read`, `comments`. */
  readonly kind: string;
  /** For people: `message`, `message failed`. */
  readonly what: string;
  readonly id: string;
  readonly from: string;
  readonly fromId: string;
  readonly to: string;
  readonly text: string;
  /** The ids that an answer needs: `Ids: message wamid.1, phone number 2`. */
  readonly ids: string;
  /** Says only that a message of ours is on its way or was read. */
  readonly isReceipt: boolean;
  /** A message that the account itself sent. */
  readonly isEcho: boolean;
  /** A comment or post of the account itself, which the agent may have written. */
  readonly isOwn: boolean;
  /** A message that someone else wrote, and that does not say who. */
  readonly isForwarded: boolean;
}

const NOTHING: MetaUpdate = {
  kind: "",
  what: "",
  id: "",
  from: "",
  fromId: "",
  to: "",
  text: "",
  ids: "",
  isReceipt: false,
  isEcho: false,
  isOwn: false,
  isForwarded: false,
};

/** All updates of a payload `{ object, entry: [{ changes, messaging, standby }] }`, in order. */
export function metaUpdates(payload: unknown): readonly MetaUpdate[] {
  return listAt(payload, "entry").flatMap((entry) => [
    ...listAt(entry, "messaging").map(messagingUpdate),
    ...listAt(entry, "standby").map(messagingUpdate),
    ...listAt(entry, "changes").flatMap((change) => changeUpdates(change, lineAt(entry, "id"))),
  ]);
}

/** An item of Messenger or Instagram messaging: each kind has a key of its own. */
function messagingUpdate(item: unknown): MetaUpdate {
  const fromId = lineAt(item, "sender.id");
  const common = { ...NOTHING, fromId, to: lineAt(item, "recipient.id") };
  if (valueAt(item, "message") !== undefined) {
    const isEcho = valueAt(item, "message.is_echo") === true;
    const isDeleted = valueAt(item, "message.is_deleted") === true;
    const id = lineAt(item, "message.mid");
    return {
      ...common,
      kind: isEcho ? "echo" : "message",
      what: isEcho ? "message of the account" : isDeleted ? "message deleted" : "message",
      // A message that is deleted keeps its id.
      id: id !== "" && isDeleted ? `${id}:deleted` : id,
      text: joinText(
        "\n",
        textAt(item, "message.text"),
        ...listAt(item, "message.attachments").map((attachment) =>
          labeled("Attached", headline(textAt(attachment, "type"), textAt(attachment, "payload.url"))),
        ),
        labeled("Choice", lineAt(item, "message.quick_reply.payload")),
      ),
      ids: idLine(item, { message: "message.mid", "in reply to": "message.reply_to.mid" }),
      isEcho,
    };
  }
  if (valueAt(item, "postback") !== undefined) {
    const text = headline(textAt(item, "postback.title"), textAt(item, "postback.payload"));
    return { ...common, kind: "postback", what: "button pressed", id: lineAt(item, "postback.mid"), text };
  }
  if (valueAt(item, "reaction") !== undefined) {
    const text = textAt(item, "reaction.emoji", "reaction.reaction");
    return { ...common, kind: "reaction", what: headline("reaction", lineAt(item, "reaction.action")), text };
  }
  for (const kind of ["delivery", "read"] as const) {
    if (valueAt(item, kind) !== undefined) return { ...common, kind, what: `${kind} receipt`, isReceipt: true };
  }
  return { ...common, kind: "messaging", what: "messaging event", text: dataLines(item).join("\n") };
}

/** Fields whose events are about something new. The others come again with the same id: a video ends, a comment is edited. */
const NEW_EACH_TIME: ReadonlySet<string> = new Set(["comments", "live_comments"]);

/** A change of WhatsApp holds messages and statuses; any other is one thing. */
function changeUpdates(change: unknown, account: string): readonly MetaUpdate[] {
  const value = valueAt(change, "value");
  const fromId = lineAt(value, "from.id");
  const field = lineAt(change, "field") || "change";
  const to = lineAt(value, "metadata.display_phone_number");
  const updates = [
    ...listAt(value, "messages").map((message) => whatsAppMessage(message, value, to)),
    ...listAt(value, "message_echoes").map((message) => ({
      ...whatsAppMessage(message, value, lineAt(message, "to")),
      kind: "echo",
      what: "message of the account",
      isEcho: true,
    })),
    ...listAt(value, "statuses").map(whatsAppStatus),
  ];
  if (updates.length > 0) return updates;
  return [
    {
      ...NOTHING,
      kind: field,
      what: field,
      id: NEW_EACH_TIME.has(field) ? lineAt(value, "id") : "",
      from: lineAt(value, "from.username", "from.name"),
      fromId,
      text: textAt(value, "text", "message") || dataLines(value).join("\n"),
      isOwn: (fromId !== "" && fromId === account) || lineAt(value, "from.self_ig_scoped_id") !== "",
    },
  ];
}

function whatsAppMessage(message: unknown, value: unknown, to: string): MetaUpdate {
  const fromId = lineAt(message, "from", "from_user_id");
  const contact = listAt(value, "contacts").find(
    (each) => fromId !== "" && lineAt(each, "wa_id", "user_id") === fromId,
  );
  const type = lineAt(message, "type");
  return {
    ...NOTHING,
    kind: "message",
    what: type === "text" || type === "" ? "message" : `message (${type})`,
    id: lineAt(message, "id"),
    from: lineAt(contact, "profile.name"),
    fromId,
    to,
    isForwarded: ["forwarded", "frequently_forwarded"].some((mark) => valueAt(message, `context.${mark}`) === true),
    text: joinText(
      "\n",
      contentText(message) || (mediaId(message) === "" ? asJson(memberOf(message, type)) : ""),
      labeled("Answers", textAt(message, "interactive.nfm_reply.response_json")),
      labeled("Choice", lineAt(message, ...CHOICES)),
      labeled("Media id", mediaId(message)),
    ),
    ids: idLine(
      { message, value },
      { message: "message.id", "in reply to": "message.context.id", "phone number": "value.metadata.phone_number_id" },
    ),
  };
}

/** The business's own value of the button or the row that was chosen. */
const CHOICES = ["interactive.button_reply.id", "interactive.list_reply.id", "button.payload"];

function contentText(message: unknown): string {
  return (
    textAt(
      message,
      "text.body",
      "button.text",
      "interactive.button_reply.title",
      "interactive.list_reply.title",
      "interactive.nfm_reply.body",
      "image.caption",
      "video.caption",
      "document.caption",
      "document.filename",
      "reaction.emoji",
      "system.body",
      "contacts[0].name.formatted_name",
      "errors[0].title",
    ) ||
    joinText(
      ", ",
      textAt(message, "location.name"),
      textAt(message, "location.address"),
      textAt(message, "location.latitude"),
      textAt(message, "location.longitude"),
    )
  );
}

function mediaId(message: unknown): string {
  return lineAt(message, "image.id", "video.id", "audio.id", "document.id", "sticker.id");
}

function whatsAppStatus(status: unknown): MetaUpdate {
  const state = lineAt(status, "status");
  const id = lineAt(status, "id");
  return {
    ...NOTHING,
    kind: "status",
    what: headline("message", state),
    id: id === "" ? "" : joinText(":", id, state),
    to: lineAt(status, "recipient_id"),
    text: headline(
      textAt(status, "errors[0].title", "errors[0].message"),
      textAt(status, "errors[0].error_data.details"),
    ),
    isReceipt: state !== "failed",
  };
}
