import { definePreset } from "../define-preset.ts";
import { itemLines, labeled, listAt, messageOf, valueAt } from "../../core/payload-text.ts";
import type { EventActor, PresetContext, PresetEvent, PresetSample } from "../preset.ts";
import { happened, words } from "../message/headline.ts";
import { capitalized, counted, headline, lineAt, phrase } from "../message/headline.ts";
import { timeText } from "../message/value-text.ts";
import { genericMessage } from "../message/unknown-event.ts";

const PERSON = "person";
const ENTITY_ID = /^[0-9a-f-]{32,36}$/i;
/** Kinds of entity that have a page of their own. */
const LINKED: ReadonlySet<string> = new Set(["page", "database"]);

/** Changes of pages, databases and comments of Notion; they name what changed and leave the content to be fetched. */
export const notion = definePreset({
  name: "notion",
  title: "Notion",
  documentation: "https://developers.notion.com/reference/webhooks",
  auth: {
    scheme: "signature",
    from: "header:x-notion-signature",
    prefix: "sha256=",
    encoding: "hex",
    content: "{body}",
  },
  secret: {
    label: "Verification token",
    required: false,
    madeBy: "sender",
    minLength: 24,
    known: ["secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl"],
  },
  handshakes: [
    {
      name: "verification token",
      verified: false,
      when: { "body:verification_token": true },
      onlyKeys: ["verification_token"],
      reply: { status: 200 },
      effect: { keyFrom: "body:verification_token" },
    },
  ],
  event: "body:type",
  deliveryId: { from: "body:id", signed: true },
  sender: senderOf,
  vouchesForActors: true,
  message,
  mapping: { name: "Notion", links: ["www.notion.so"] },
  success: { statuses: "2xx", otherwise: "tries up to 8 times in about 24 hours" },
  ignored: "events of which all authors are marked as bots or agents",
  samples: {
    "page.content_updated": sample("page.content_updated", "person", "page", {
      parent: { id: "0ef104cd-477e-80e1-8571-cfd10e92339a", type: "page" },
      updated_blocks: [
        { id: "153104cd-477e-80ec-a87d-f7ff0236d35c", type: "block" },
        { id: "153104cd-477e-80ec-a87d-f7ff0236d35d", type: "block" },
      ],
    }),
    "page.properties_updated": sample("page.properties_updated", "bot", "page", {
      parent: { id: "0ef104cd-477e-80e1-8571-cfd10e92339b", type: "database" },
      updated_properties: ["title", "Due%20date"],
    }),
    "comment.created": sample("comment.created", "person", "comment", {
      parent: { id: "153104cd-477e-809d-8dc4-ff2d96ae3090", type: "page" },
      page_id: "153104cd-477e-809d-8dc4-ff2d96ae3090",
    }),
  },
  setup: [
    "Turn the route on without a secret first, so that it can take the verification token that Notion sends.",
    "In Notion's integrations dashboard open the integration, Webhooks, and create a subscription with {url} as its URL.",
    "Choose the events, such as page.content_updated and comment.created; the integration must be connected to the pages.",
    "Paste the {secret}, which the gateway has received and kept, into Verify subscription.",
  ],
});

/** Several people may have caused one event, as edits are combined: a person goes before a bot. */
function senderOf({ payload }: PresetContext): EventActor | undefined {
  const authors = listAt(payload, "authors").filter((author) => lineAt(author, "id") !== "");
  const author = authors.find((author) => !isBot(author)) ?? authors[0];
  const id = lineAt(author, "id");
  if (author === undefined) return undefined;
  // Several people's changes come in one event, and the first is not the author of all.
  const isOne = authors.every((each) => lineAt(each, "id") === id);
  return { name: id, id, bot: isBot(author), ...(isOne ? {} : { unproven: true }) };
}

/** Notion marks `bot` and `agent`. */
function isBot(author: unknown): boolean {
  const type = lineAt(author, "type");
  return type !== PERSON && type !== "";
}

function message({ payload, event }: PresetEvent): string {
  const data = valueAt(payload, "data");
  const [kind = "", action = ""] = (event ?? "").split(".");
  const id = lineAt(payload, "entity.id");
  const lines = [
    labeled("By", headline(lineAt(payload, "authors[0].type"), lineAt(payload, "authors[0].id"))),
    labeled("At", timeText(valueAt(payload, "timestamp"))),
    labeled("In", headline(lineAt(data, "parent.type"), lineAt(data, "parent.id"))),
    labeled("Page", lineAt(data, "page_id")),
    labeled("Id", id),
    labeled("Event", lineAt(payload, "id")),
    linkOf(kind === "comment" ? lineAt(data, "page_id") : LINKED.has(kind) ? id : ""),
  ];
  if (action === "") return genericMessage({ title: "Notion", event, object: payload, lines });
  const blocks = listAt(data, "updated_blocks").length;
  return messageOf(
    headline(capitalized(words(kind)), phrase("in the workspace", lineAt(payload, "workspace_name")), happened(action)),
    labeled("Properties", itemLines(listAt(data, "updated_properties"), propertyText).filter(Boolean).join(", ")),
    blocks === 0 ? "" : labeled("Changed", counted(blocks, "block")),
    lines,
  );
}

/** Properties come by their ids, which are percent-encoded, or as objects. */
function propertyText(property: unknown): string {
  const text = typeof property === "string" ? lineAt(property, "") : lineAt(property, "name", "id");
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function linkOf(id: string): string {
  return ENTITY_ID.test(id) ? `https://www.notion.so/${id.replaceAll("-", "")}` : "";
}

/** An event as Notion sends it. */
function sample(type: string, author: string, entity: string, data: Readonly<Record<string, unknown>>): PresetSample {
  return {
    payload: {
      id: "367cba44-b6f3-4c92-81e7-6a2e9659efd4",
      timestamp: "2026-11-20T11:58:00.000Z",
      workspace_id: "13950b26-c203-4f3b-b97d-93ec06319565",
      workspace_name: "Example Workshop",
      subscription_id: "29d75c0d-5546-4414-8459-7b7a92f1fc4b",
      integration_id: "0ef2e755-4912-8096-91c1-00376a88a5ca",
      type,
      authors: [{ id: "c7c11cca-1d73-471d-9b6e-bdef51470190", type: author }],
      attempt_number: 1,
      api_version: "2026-03-11",
      entity: { id: "153104cd-477e-809d-8dc4-ff2d96ae3090", type: entity },
      data,
    },
  };
}
