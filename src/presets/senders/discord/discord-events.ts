import { definePreset } from "../../define-preset.ts";
import { eventActor } from "../../event-fields.ts";
import { joinText, labeled, listAt, messageOf, textAt, valueAt } from "../../../core/payload-text.ts";
import type { EventActor, PresetContext, PresetEvent } from "../../preset.ts";
import { headline, idLine, lineAt, phrase } from "../../message/headline.ts";
import { unknownEvent } from "../../message/unknown-event.ts";
import { discordApplication } from "./discord-application.ts";

/** Discord tries again for up to ten minutes, and does not say whether it signs again each time. */
const TOLERANCE_SECONDS = 900;

/** Webhook events of a Discord application: installations, purchases, messages of the Social SDK. */
export const discordEvents = definePreset({
  name: "discord-events",
  title: "Discord webhook events",
  text: "plain",
  documentation: "https://docs.discord.com/developers/events/webhook-events",
  ...discordApplication,
  auth: {
    ...discordApplication.auth,
    timestamp: { ...discordApplication.auth.timestamp, toleranceSeconds: TOLERANCE_SECONDS, futureSeconds: 300 },
  },
  handshakes: [
    {
      name: "PING",
      verified: true,
      when: { "body:type": "0" },
      reply: { status: 204, headers: { "content-type": "application/json" } },
    },
  ],
  event: "body:event.type",
  deliveryId: {
    from: deliveryIdOf,
    signed: true,
    where: "body:event.type + body:event.timestamp + the id in body:event.data",
  },
  sender: senderOf,
  vouchesForActors: true,
  skip: ({ payload }) => (textAt(payload, "type") === "0" ? "Discord checks the URL" : undefined),
  answer: { status: 204, contentType: "application/json" },
  message,
  mapping: { name: "Discord" },
  success: { statuses: "204", otherwise: "tries again for 10 minutes, then may disable the URL" },
  ignored: "events of users that Discord marks as bots, pings",
  samples: {
    APPLICATION_AUTHORIZED: {
      payload: {
        version: 1,
        application_id: "1200000000000000000",
        type: 1,
        event: {
          type: "APPLICATION_AUTHORIZED",
          timestamp: "2026-11-20T12:00:00.000000",
          data: {
            integration_type: 0,
            scopes: ["applications.commands", "bot"],
            user: { id: "1000000000000000001", username: "ada", global_name: "Ada Lovelace", bot: false },
            guild: { id: "1100000000000000000", name: "Analytical Engines" },
          },
        },
      },
    },
    ENTITLEMENT_CREATE: {
      payload: {
        version: 1,
        application_id: "1200000000000000000",
        type: 1,
        event: {
          type: "ENTITLEMENT_CREATE",
          timestamp: "2026-11-20T12:01:00.000000",
          data: {
            id: "1400000000000000001",
            sku_id: "1400000000000000000",
            application_id: "1200000000000000000",
            user_id: "1000000000000000001",
            type: 4,
            deleted: false,
            ends_at: "2026-12-20T12:00:00.000000",
          },
        },
      },
    },
    LOBBY_MESSAGE_CREATE: {
      payload: {
        version: 1,
        application_id: "1200000000000000000",
        type: 1,
        event: {
          type: "LOBBY_MESSAGE_CREATE",
          timestamp: "2026-11-20T12:02:00.000000",
          data: {
            id: "1500000000000000001",
            type: 0,
            content: "Ready when you are.",
            lobby_id: "1500000000000000000",
            author: { id: "1000000000000000002", username: "grace", global_name: "Grace Hopper" },
          },
        },
      },
    },
  },
  setup: [
    "At discord.com/developers/applications choose the application; under General Information copy the {secret} into hooks.discord-events.secret.",
    "Start the gateway, then on the page Webhooks paste {url} as Endpoint (Discord checks it at once).",
    "Turn Events on, tick the events to receive, and save.",
  ],
});

/** Discord gives deliveries no id; the event's own time is the same when it tries again. */
function deliveryIdOf({ payload }: PresetContext): string | undefined {
  const timestamp = textAt(payload, "event.timestamp");
  if (timestamp === "") return undefined;
  const id = textAt(payload, "event.data.id", "event.data.user.id", "event.data.user_id");
  return joinText(":", textAt(payload, "event.type"), timestamp, id);
}

function senderOf({ payload }: PresetContext): EventActor | undefined {
  const user = valueAt(payload, "event.data.user") ?? valueAt(payload, "event.data.author");
  const id = lineAt(user, "id") || lineAt(payload, "event.data.user_id");
  const name = lineAt(user, "username") || id;
  return eventActor(name, id, valueAt(user, "bot") === true);
}

const MESSAGE_EVENT = /^(?:LOBBY|GAME_DIRECT)_MESSAGE_(CREATE|UPDATE|DELETE)$/;
const MESSAGE_WORDS: Readonly<Record<string, string>> = {
  CREATE: "Discord message",
  UPDATE: "Discord message edited",
  DELETE: "Discord message deleted",
};
const ENTITLEMENT_WORDS: Readonly<Record<string, string>> = {
  ENTITLEMENT_CREATE: "Discord purchase",
  ENTITLEMENT_UPDATE: "Discord purchase changed",
  ENTITLEMENT_DELETE: "Discord purchase withdrawn",
};

function message(context: PresetEvent): string {
  const { payload, event = "" } = context;
  const sender = senderOf(context);
  const data = valueAt(payload, "event.data");
  const by = phrase("by", lineAt(data, "user.global_name", "author.global_name") || (sender?.name ?? ""));
  if (event === "APPLICATION_AUTHORIZED" || event === "APPLICATION_DEAUTHORIZED") {
    const what =
      event === "APPLICATION_AUTHORIZED" ? "Discord application authorized" : "Discord application deauthorized";
    const scopes = listAt(data, "scopes").map((scope) => textAt(scope, ""));
    return messageOf(
      headline(what, by, phrase("for the server", lineAt(data, "guild.name", "guild.id"))),
      labeled("Scopes", joinText(", ", ...scopes)),
      idLine(data, { user: "user.id", guild: "guild.id" }),
    );
  }
  const purchase = Object.hasOwn(ENTITLEMENT_WORDS, event) ? ENTITLEMENT_WORDS[event]! : "";
  if (purchase !== "") {
    return messageOf(
      headline(purchase, by),
      labeled("SKU", textAt(data, "sku_id")),
      labeled("Entitlement", textAt(data, "id")),
      labeled("Ends", textAt(data, "ends_at")),
      idLine(data, { user: "user_id", guild: "guild_id" }),
    );
  }
  const about = MESSAGE_EVENT.exec(event)?.[1];
  if (about !== undefined) {
    const place = phrase("in", lineAt(data, "channel.name", "lobby_id", "channel_id"));
    return messageOf(
      headline(MESSAGE_WORDS[about]!, by, place),
      textAt(data, "content"),
      idLine(data, { user: "author.id", lobby: "lobby_id", channel: ["channel.id", "channel_id"], message: "id" }),
    );
  }
  return unknownEvent("Discord", context.event, sender, data);
}
