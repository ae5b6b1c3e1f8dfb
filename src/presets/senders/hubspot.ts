import { definePreset } from "../define-preset.ts";
import { batchEvent, batchId, eventActor, ownActor } from "../event-fields.ts";
import { itemLines, joinText, listAt, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { EventActor, PresetContext, PresetEvent } from "../preset.ts";
import { happened, words } from "../message/headline.ts";
import { capitalized, headline, lineAt, phrase } from "../message/headline.ts";
import { genericMessage } from "../message/unknown-event.ts";

/** Sources of a change whose `sourceId` is the id of an app. */
const APPS: ReadonlySet<string> = new Set(["API", "INTEGRATION", "INTEGRATIONS_PLATFORM"]);

/** IDs of the object types of every account. */
const TYPE_IDS: Readonly<Record<string, string>> = {
  contact: "0-1",
  company: "0-2",
  deal: "0-3",
  ticket: "0-5",
  product: "0-7",
  line_item: "0-8",
};
const TYPE_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(TYPE_IDS).map(([name, id]) => [id, name]),
);
const MAX_EVENTS = 1_000;

/** Changes of contacts, companies, deals, tickets and conversations of HubSpot. */
export const hubspot = definePreset({
  name: "hubspot",
  title: "HubSpot",
  documentation:
    "https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation",
  auth: {
    scheme: "signature",
    from: "header:x-hubspot-signature-v3",
    encoding: "base64",
    content: "{method}{decodedUrl}{body}{timestamp}",
    timestamp: { from: "header:x-hubspot-request-timestamp", unit: "milliseconds", toleranceSeconds: 300 },
  },
  secret: {
    label: "Client secret",
    madeBy: "sender",
    minLength: 32,
    known: ["yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy"],
  },
  event: ({ payload }) => batchEvent(eventsOf(payload).map((event) => lineAt(event, "subscriptionType"))),
  eventWhere: "body:[].subscriptionType",
  // An eventId is not unique, and a retry differs in its attemptNumber.
  deliveryId: {
    from: ({ payload }) => batchId(eventsOf(payload).map(identityOf)),
    signed: true,
    where: "subscriptionId, eventId, objects and occurredAt of every event",
  },
  sender: senderOf,
  message,
  mapping: { name: "HubSpot" },
  success: { statuses: "2xx, within 5 seconds", otherwise: "tries up to 10 times in 24 hours" },
  ignored: "changes by the app that the webhook belongs to. Other apps and programs are no bots",
  samples: {
    "contact.creation": {
      payload: [
        { ...common(1), subscriptionType: "contact.creation", objectId: 501, changeFlag: "NEW", ...byPerson("77") },
      ],
    },
    "deal.propertyChange": {
      payload: [
        {
          ...common(2),
          subscriptionType: "deal.propertyChange",
          objectId: 902,
          propertyName: "dealstage",
          propertyValue: "closedwon",
          ...byPerson("77"),
        },
        {
          ...common(3),
          subscriptionType: "deal.propertyChange",
          objectId: 902,
          propertyName: "amount",
          propertyValue: "4900",
          ...byPerson("77"),
        },
      ],
    },
    "contact.propertyChange": {
      payload: [
        {
          ...common(4),
          subscriptionType: "contact.propertyChange",
          objectId: 501,
          propertyName: "lifecyclestage",
          propertyValue: "customer",
          changeSource: "INTEGRATION",
          sourceId: "62515",
        },
      ],
    },
    "conversation.newMessage": {
      payload: [
        {
          ...common(5),
          subscriptionType: "conversation.newMessage",
          objectId: 3301,
          messageId: "sample-message-1",
          messageType: "MESSAGE",
          changeFlag: "NEW_MESSAGE",
        },
      ],
    },
  },
  setup: [
    "Set hooks.publicUrl: HubSpot signs the URL that it calls.",
    "In HubSpot open Development (or Settings, Integrations, Private apps), choose the app, and open its Webhooks.",
    "Paste {url} as the target URL and create subscriptions, such as contact.creation and deal.propertyChange.",
    "Copy the {secret} from the app's Auth page and put it in the configuration.",
    "Only signatures of version 3 are accepted, which every app sends. A refusal that says that x-hubspot-signature-v3 is missing comes from an old workflow action that signs by version 1 or 2, which cover no time: send that through an app's subscription instead.",
  ],
});

/** HubSpot sends up to a hundred events as one list. */
function eventsOf(payload: unknown): readonly unknown[] {
  return Array.isArray(payload) ? payload.slice(0, MAX_EVENTS) : [payload];
}

function identityOf(event: unknown): string {
  const parts = [
    textAt(event, "subscriptionId", "subscriptionType"),
    textAt(event, "eventId"),
    objectOf(event),
    textAt(event, "occurredAt"),
  ];
  return parts.includes("") ? "" : joinText("-", ...parts, textAt(event, "toObjectId"));
}

/** The object that the event is about: the one that is left of a merge, the one whose association changed. */
function objectOf(event: unknown): string {
  return lineAt(event, "newObjectId", "primaryObjectId", "objectId", "fromObjectId");
}

/** The actor of all changes; `undefined` when several made them. HubSpot marks no bots; a change by the webhook's own app is the agent's. */
function senderOf({ payload }: PresetContext): EventActor | undefined {
  const sources = eventsOf(payload).map((event) => ({
    source: lineAt(event, "changeSource"),
    id: lineAt(event, "sourceId"),
  }));
  const { source, id } = sources[0] ?? { source: "", id: "" };
  const isOne = sources.every((other) => other.source === source && other.id === id);
  if (source === "" || !isOne) return undefined;
  const isOwn = APPS.has(source) && id !== "" && id === lineAt(eventsOf(payload)[0], "appId");
  return isOwn ? ownActor(id, source) : eventActor(id || source, source);
}

function message(event: PresetEvent): string {
  const events = eventsOf(event.payload);
  const lines = itemLines(
    events.filter((item) => lineAt(item, "subscriptionType") !== ""),
    changeLine,
  );
  if (lines.length === 0) return genericMessage({ title: "HubSpot", event: event.event, object: event.payload });
  return messageOf(events.length > 1 ? `${events.length} changes in HubSpot:` : "", lines);
}

/** `Deal 902: dealstage is now closedwon (by userId:77)` and its link. */
function changeLine(event: unknown): string {
  const [kind = "", action = ""] = lineAt(event, "subscriptionType").split(".");
  const type = kind === "object" ? nameOfType(lineAt(event, "objectTypeId", "fromObjectTypeId")) : kind;
  const said = headline(capitalized(words(type)), objectOf(event), changeOf(event, action));
  const source = joinText(", ", lineAt(event, "sourceId"), lineAt(event, "changeSource"));
  return headline(said, source === "" ? "" : `(by ${source})`, linkOf(event, type));
}

function changeOf(event: unknown, action: string): string {
  const property = lineAt(event, "propertyName");
  const value = lineAt(event, "propertyValue");
  switch (action) {
    case "propertyChange":
      return value === "" ? headline("lost its", property) : headline("has", property, phrase("set to", value));
    case "creation":
      return "was created";
    case "deletion":
      return "was deleted";
    case "restore":
      return "was restored";
    case "merge":
      return headline("was merged", phrase("from", mergedOf(event)));
    case "privacyDeletion":
      return "was deleted for privacy";
    case "associationChange":
      return associationOf(event);
    case "newMessage":
      return headline("has a new message", lineAt(event, "messageId"));
    default:
      return happened(action);
  }
}

function mergedOf(event: unknown): string {
  const merged = [valueAt(event, "primaryObjectId"), ...listAt(event, "mergedObjectIds")].map((id) => lineAt(id, ""));
  const left = objectOf(event);
  return joinText(
    ", ",
    ...itemLines(
      merged.filter((id) => id !== "" && id !== left),
      String,
    ),
  );
}

function associationOf(event: unknown): string {
  const removed = valueAt(event, "associationRemoved");
  const type = lineAt(event, "toObjectTypeId");
  const other = headline(type === "" ? "" : words(nameOfType(type)), lineAt(event, "toObjectId"));
  const kind = words(lineAt(event, "associationType"));
  return headline(
    typeof removed === "boolean"
      ? removed
        ? "lost its association"
        : "got an association"
      : "changed its association",
    phrase("with", other),
    kind === "" ? "" : `(${kind})`,
  );
}

function nameOfType(id: string): string {
  return Object.hasOwn(TYPE_NAMES, id) ? TYPE_NAMES[id]! : headline("object", id);
}

function linkOf(event: unknown, type: string): string {
  const portal = lineAt(event, "portalId");
  const id = objectOf(event);
  const typeId = Object.hasOwn(TYPE_IDS, type) ? TYPE_IDS[type]! : "";
  if (typeId === "" || !/^\d+$/.test(portal) || !/^\d+$/.test(id)) return "";
  return `https://app.hubspot.com/contacts/${portal}/record/${typeId}/${id}`;
}

function common(number: number) {
  return {
    eventId: 1_000 + number,
    subscriptionId: 2_000 + number,
    portalId: 62_515,
    appId: 54_321,
    occurredAt: 1_795_175_999_000 + number,
    attemptNumber: 0,
  };
}

function byPerson(id: string) {
  return { changeSource: "CRM_UI", sourceId: `userId:${id}` };
}
