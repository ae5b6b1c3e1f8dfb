import Type from "typebox";
import { text } from "../../../config/schema-parts.ts";
import { definePreset } from "../../define-preset.ts";
import { batchEvent, eventActor, ownActor } from "../../event-fields.ts";
import { itemLines, joinText, messageOf, valueAt } from "../../../core/payload-text.ts";
import type { EventActor, PresetContext, PresetEvent } from "../../preset.ts";
import { headline, titled, lineAt, phrase } from "../../message/headline.ts";
import { unknownEvent } from "../../message/unknown-event.ts";
import { META_SAMPLES } from "./meta-samples.ts";
import { metaUpdates } from "./meta-updates.ts";
import type { MetaUpdate } from "./meta-updates.ts";

/** A batch of Meta holds up to 1,000 updates. */
const MAX_BODY_BYTES = 3 * 1_024 * 1_024;

const PRODUCTS: Readonly<Record<string, { readonly key: string; readonly title: string }>> = {
  whatsapp_business_account: { key: "whatsapp", title: "WhatsApp" },
  page: { key: "messenger", title: "Messenger" },
  instagram: { key: "instagram", title: "Instagram" },
};

const SettingsSchema = Type.Object(
  { verifyToken: text({ description: "The Verify token that is entered beside the URL in Meta's settings." }) },
  { additionalProperties: false },
);

/** WhatsApp, Messenger and Instagram: messages in batches, receipts, and changes of pages and accounts. */
export const meta = definePreset({
  name: "meta",
  title: "Meta (WhatsApp, Messenger, Instagram)",
  text: "plain",
  documentation: "https://developers.facebook.com/docs/graph-api/webhooks/getting-started",
  auth: { scheme: "signature", from: "header:x-hub-signature-256", prefix: "sha256=" },
  secret: { label: "App Secret", madeBy: "sender", minLength: 32 },
  settings: SettingsSchema,
  secretSettings: ["verifyToken"],
  handshakes: [
    {
      name: "hub.challenge",
      method: "GET",
      verified: false,
      when: {
        "query:hub.mode": "subscribe",
        "query:hub.verify_token": { setting: "verifyToken" },
        "query:hub.challenge": true,
      },
      onlyKeys: ["hub.mode", "hub.verify_token", "hub.challenge"],
      reply: { status: 200, text: "{query:hub.challenge}" },
    },
  ],
  event: ({ payload }) => eventOf(payload),
  eventWhere: "the product, and what its updates are",
  deliveryId: { from: deliveryIdOf, signed: true, where: "the id of the message, when the batch holds only one" },
  sender: senderOf,
  authors: ({ payload }) => (metaUpdates(payload).some(({ isForwarded }) => isForwarded) ? [{}] : []),
  vouchesForActors: true,
  skip: skipOf,
  answer: { status: 200 },
  message,
  mapping: { name: "Meta", maxBodyBytes: MAX_BODY_BYTES },
  success: { statuses: "200", otherwise: "tries again less and less often, for 36 hours (WhatsApp: 7 days)" },
  ignored: "receipts (sent, delivered, read), echoes of the account's own messages, and its own comments and posts",
  samples: META_SAMPLES,
  setup: [
    "At developers.facebook.com/apps choose the app; under App settings, Basic copy the {secret} into hooks.meta.secret.",
    "Choose a verify token (for example openssl rand -hex 16), put it into hooks.meta.verifyToken and start the gateway.",
    "Under WhatsApp, Configuration (or Messenger, or Instagram: Webhooks) paste {url} as Callback URL and the same verify token, then Verify and save.",
    "Subscribe to the field messages; for Messenger also to messaging_postbacks. Receipts need no subscription.",
  ],
});

function productOf(payload: unknown): { readonly key: string; readonly title: string } | undefined {
  const object = lineAt(payload, "object");
  if (object === "") return undefined;
  return Object.hasOwn(PRODUCTS, object) ? PRODUCTS[object] : { key: object, title: `Meta ${object}` };
}

/** The updates that say most of the batch: no receipts and echoes if there is anything else. */
function newsOf(updates: readonly MetaUpdate[]): readonly MetaUpdate[] {
  const news = updates.filter(isNews);
  return news.length > 0 ? news : updates;
}

function isNews({ isReceipt, isEcho }: MetaUpdate): boolean {
  return !isReceipt && !isEcho;
}

function eventOf(payload: unknown): string | undefined {
  const product = productOf(payload)?.key ?? "";
  const kinds = newsOf(metaUpdates(payload)).map(({ kind }) => joinText(".", product, kind));
  return batchEvent(kinds.length === 0 ? [product] : kinds);
}

function deliveryIdOf({ payload }: PresetContext): string | undefined {
  const [only, ...more] = metaUpdates(payload);
  return only === undefined || more.length > 0 ? undefined : only.id || undefined;
}

/** A batch has a sender only if all of it is from the same one. */
function senderOf({ payload }: PresetContext): EventActor | undefined {
  const [first, ...more] = newsOf(metaUpdates(payload));
  if (first === undefined || more.some(({ fromId, isEcho }) => fromId !== first.fromId || isEcho !== first.isEcho)) {
    return undefined;
  }
  const { from, fromId, isEcho, isOwn } = first;
  const name = from || fromId;
  return isOwn ? ownActor(name, fromId) : eventActor(name, fromId, isEcho);
}

function skipOf({ payload }: PresetEvent): string | undefined {
  const updates = metaUpdates(payload);
  if (updates.length === 0) return undefined;
  if (updates.every(({ isReceipt }) => isReceipt)) return "nothing but receipts";
  return updates.every(({ isReceipt, isEcho }) => isReceipt || isEcho)
    ? "an echo of the account's own messages"
    : undefined;
}

function message({ payload, event }: PresetEvent): string {
  const title = productOf(payload)?.title ?? "Meta";
  const updates = metaUpdates(payload);
  const [only] = updates;
  if (only === undefined) return unknownEvent(title, event, undefined, valueAt(payload, "entry"));
  if (updates.length === 1) {
    return messageOf(
      headline(title, only.what, phrase("from", whoOf(only)), phrase("to", only.to)),
      only.text,
      only.ids,
    );
  }
  // Receipts last: of a long batch they would hide the rest.
  const [news, rest] = [updates.filter(isNews), updates.filter((update) => !isNews(update))];
  return messageOf(
    `${title}: ${updates.length} updates`,
    itemLines([...news, ...rest], (update) => updateLine(update as MetaUpdate)),
  );
}

function updateLine(update: MetaUpdate): string {
  return titled(
    headline("-", update.what, phrase("from", whoOf(update)), update.ids && `(${update.ids})`),
    update.text,
  );
}

function whoOf({ from, fromId }: MetaUpdate): string {
  return from === "" || fromId === "" || from === fromId ? from || fromId : `${from} (${fromId})`;
}
