import Type from "typebox";
import { definePreset } from "../define-preset.ts";
import { eventActor, ownActor } from "../event-fields.ts";
import { labeled, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { EventActor, PresetContext, PresetSample } from "../preset.ts";
import { asJson } from "../message/data-lines.ts";
import { bodyAt, headline, lineAt, oneLine, phrase, titled } from "../message/headline.ts";

const board = { id: "5f0000000000000000000001", name: "App", shortLink: "bOaRd123" };
const card = { id: "5f0000000000000000000002", name: "Fix login", idShort: 7, shortLink: "cArD4567" };

function sample(id: string, type: string, data: object): PresetSample {
  return {
    headers: { "user-agent": "TrelloWebhooks/1.0" },
    payload: {
      model: { ...board, url: "https://trello.example.com/b/bOaRd123/app" },
      action: {
        id,
        type,
        date: "2026-11-20T12:00:00.000Z",
        idMemberCreator: "5f0000000000000000000009",
        appCreator: null,
        data: { board, ...data },
        memberCreator: { id: "5f0000000000000000000009", fullName: "Ada Lund", username: "ada", initials: "AL" },
      },
    },
  };
}

/**
 * Webhooks of Trello boards and cards. The callback URL is signed exactly as the webhook was made with it,
 * so the gateway's public URL must be right. Trello asks for the URL with HEAD first.
 */
export const trello = definePreset({
  name: "trello",
  title: "Trello",
  documentation: "https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/",
  auth: {
    from: "header:x-trello-webhook",
    algorithm: "hmac-sha1",
    encoding: "base64",
    content: "{body}{url}",
  },
  secret: { label: "API secret", madeBy: "sender", minLength: 16 },
  settings: Type.Object({
    appId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: "Id of the app that the agent acts through (action.appCreator.id). What it does wakes no agent.",
      }),
    ),
  }),
  handshakes: [{ name: "callback check", method: "HEAD", verified: false, emptyBody: true, reply: { status: 200 } }],
  event: "body:action.type",
  deliveryId: { from: "body:action.id", signed: true },
  sender: senderOf,
  vouchesForActors: true,
  message: ({ payload }) => messageOf(...linesOf(payload)),
  mapping: { name: "Trello", links: ["trello.com"] },
  success: {
    statuses: "200",
    otherwise: "tries 3 times more (30, 60 and 120 seconds), and disables the webhook after many failures in a row",
  },
  ignored: "actions of the app that hooks.trello.appId names. Other apps act for people and are no bots",
  samples: {
    createCard: sample("6f0000000000000000000001", "createCard", { card, list: { name: "To Do" } }),
    updateCard: sample("6f0000000000000000000002", "updateCard", {
      card,
      listBefore: { name: "To Do" },
      listAfter: { name: "Doing" },
      old: { idList: "5f0000000000000000000003" },
    }),
    commentCard: sample("6f0000000000000000000003", "commentCard", {
      card,
      list: { name: "Doing" },
      text: "It also happens on the phone.",
    }),
  },
  setup: [
    "Open your Power-Up in the Power-Up Admin Portal, tab API key: copy the {secret}, and set it as hooks.trello.secret.",
    "Set hooks.publicUrl to where the outside reaches the gateway: the URL is part of what Trello signs.",
    "Find the board's id: open it in the browser with .json at the end of its address.",
    "Make the webhook: POST https://api.trello.com/1/webhooks with key, token, idModel=<board id> and callbackURL={url}",
    "If the agent writes to Trello through its API, set hooks.trello.appId to the id of its app, or put its member into hooks.trello.ignoreActors.",
  ],
});

/** Trello names the app of an action that came through its API. People act through many apps; only one is the agent's. */
function senderOf({ payload, settings }: PresetContext): EventActor | undefined {
  const name = lineAt(payload, "action.memberCreator.username", "action.memberCreator.fullName");
  const id = lineAt(payload, "action.memberCreator.id", "action.idMemberCreator");
  const app = textAt(payload, "action.appCreator.id");
  return app !== "" && app === settings["appId"] ? ownActor(name, id) : eventActor(name, id);
}

function linesOf(payload: unknown): readonly string[] {
  const at = (path: string) => lineAt(payload, `action.data.${path}`);
  const type = textAt(payload, "action.type");
  const doing = doingOf(type, at, payload);
  const board = at("board.name") || lineAt(payload, "model.name");
  const who = lineAt(payload, "action.memberCreator.fullName", "action.memberCreator.username");
  const opening = headline(who || "Someone", doing, phrase("on the board", board));
  const unknown = headline("Trello:", words(type) || "an event", phrase("by", who), phrase("on the board", board));
  const name = at("card.name") || at("list.name");
  return [
    doing === "" ? titled(unknown, name) : opening,
    labeled("Name was", at("old.name")),
    bodyAt(payload, "action.data.text", "action.data.card.desc"),
    labeled("Due", at("card.due")),
    at("attachment.url"),
    pageOf(at),
    doing === "" && name === "" ? asJson(valueAt(payload, "action.data") ?? payload) : "",
  ];
}

function pageOf(at: (path: string) => string): string {
  const [card, board] = [at("card.shortLink"), at("board.shortLink")];
  if (card) return `https://trello.com/c/${card}`;
  return board && `https://trello.com/b/${board}`;
}

/** `moved card "Fix login" from To Do to Doing`; empty for an action without words of its own. */
function doingOf(type: string, at: (path: string) => string, payload: unknown): string {
  const name = at("card.name");
  const card = named("card", name);
  if (type === "updateCard" && at("listAfter.name")) {
    return headline("moved", card, phrase("from", at("listBefore.name")), phrase("to", at("listAfter.name")));
  }
  if (type === "updateCard" && valueAt(payload, "action.data.old.closed") !== undefined) {
    return headline(valueAt(payload, "action.data.card.closed") === true ? "archived" : "unarchived", card);
  }
  if (type === "updateCheckItemStateOnCard") {
    const doing = at("checkItem.state") === "complete" ? "ticked" : "unticked";
    return headline(doing, named("", at("checkItem.name")) || "an item", name && phrase("on", card));
  }
  const doing = DOING.get(type);
  if (!doing) return "";
  const { verb, thing, joint } = doing;
  return headline(verb, named(thing, at(`${thing}.name`)), name && joint && phrase(joint, card));
}

interface Doing {
  readonly verb: string;
  /** The second object of an action, by its key in the action's data. */
  readonly thing: string;
  /** The preposition between that and the card. */
  readonly joint: string;
}

const DOING: ReadonlyMap<string, Doing> = new Map([
  ["createCard", { verb: "created", thing: "card", joint: "" }],
  ["updateCard", { verb: "changed", thing: "card", joint: "" }],
  ["deleteCard", { verb: "deleted", thing: "card", joint: "" }],
  ["commentCard", { verb: "commented on", thing: "card", joint: "" }],
  ["updateComment", { verb: "edited a comment on", thing: "card", joint: "" }],
  ["deleteComment", { verb: "deleted a comment on", thing: "card", joint: "" }],
  ["addMemberToCard", { verb: "added", thing: "member", joint: "to" }],
  ["removeMemberFromCard", { verb: "removed", thing: "member", joint: "from" }],
  ["addLabelToCard", { verb: "added", thing: "label", joint: "to" }],
  ["removeLabelFromCard", { verb: "removed", thing: "label", joint: "from" }],
  ["addAttachmentToCard", { verb: "attached", thing: "attachment", joint: "to" }],
  ["addChecklistToCard", { verb: "added", thing: "checklist", joint: "to" }],
  ["createList", { verb: "created", thing: "list", joint: "" }],
  ["updateList", { verb: "changed", thing: "list", joint: "" }],
]);

function named(kind: string, name: string): string {
  return headline(kind, name && `"${name}"`);
}

/** `updateBoard` is `update board`. */
function words(type: string): string {
  return oneLine(type.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase());
}
