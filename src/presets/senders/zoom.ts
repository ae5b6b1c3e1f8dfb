import { definePreset } from "../define-preset.ts";
import { joinText, labeled, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { EventActor, PresetContext, PresetEvent } from "../preset.ts";
import { headline, idLine, lineAt, phrase } from "../message/headline.ts";
import { unknownEvent } from "../message/unknown-event.ts";

/** Zoom tries again after 5, 25 and 85 minutes, and does not say whether it signs again each time. */
const TOLERANCE_SECONDS = 6_000;

/** Events of a Zoom app: meetings, recordings, phone, team chat. */
export const zoom = definePreset({
  name: "zoom",
  title: "Zoom",
  documentation: "https://developers.zoom.us/docs/api/webhooks/",
  auth: {
    scheme: "signature",
    from: "header:x-zm-signature",
    prefix: "v0=",
    content: "v0:{timestamp}:{body}",
    timestamp: { from: "header:x-zm-request-timestamp", toleranceSeconds: TOLERANCE_SECONDS, futureSeconds: 300 },
  },
  secret: { label: "Secret Token", madeBy: "sender", minLength: 16 },
  handshakes: [
    {
      name: "endpoint.url_validation",
      verified: true,
      when: { "body:event": "endpoint.url_validation", "body:payload.plainToken": true },
      computed: { token: { algorithm: "hmac-sha256", encoding: "hex", of: "{body:payload.plainToken}" } },
      reply: { status: 200, json: { plainToken: "{body:payload.plainToken}", encryptedToken: "{computed:token}" } },
    },
  ],
  event: "body:event",
  deliveryId: {
    from: deliveryIdOf,
    signed: true,
    where: "body:event + body:event_ts + the ids in body:payload.object",
  },
  sender: senderOf,
  skip: ({ event }) => (event === "endpoint.url_validation" ? "Zoom checks the URL" : undefined),
  answer: { status: 204 },
  message,
  mapping: { name: "Zoom" },
  success: { statuses: "200 or 204, within 3 seconds", otherwise: "tries again after 5, 25 and 85 minutes" },
  ignored: "checks of the URL. Zoom marks no bots",
  samples: {
    "meeting.started": {
      payload: {
        event: "meeting.started",
        event_ts: 1795176000123,
        payload: {
          account_id: "AAAAAAexample",
          object: {
            id: "95200000001",
            uuid: "4444AAAiAAAAAiAiAiiAii==",
            host_id: "x1yCzABCDEfg23HiJKl4mN",
            topic: "Weekly planning",
            type: 8,
            start_time: "2026-11-20T12:00:00Z",
            duration: 60,
            timezone: "Europe/Berlin",
          },
        },
      },
    },
    "meeting.participant_joined": {
      payload: {
        event: "meeting.participant_joined",
        event_ts: 1795176060123,
        payload: {
          account_id: "AAAAAAexample",
          object: {
            id: "95200000001",
            uuid: "4444AAAiAAAAAiAiAiiAii==",
            topic: "Weekly planning",
            participant: {
              user_id: "16778240",
              user_name: "Ada Lovelace",
              email: "ada@example.com",
              participant_uuid: "7C1D3E52-0000-4000-8000-000000000001",
              join_time: "2026-11-20T12:01:00Z",
            },
          },
        },
      },
    },
    "recording.completed": {
      payload: {
        event: "recording.completed",
        event_ts: 1795179600123,
        download_token: "invented-download-token",
        payload: {
          account_id: "AAAAAAexample",
          object: {
            id: "95200000001",
            uuid: "4444AAAiAAAAAiAiAiiAii==",
            host_email: "grace@example.com",
            topic: "Weekly planning",
            start_time: "2026-11-20T12:00:00Z",
            duration: 58,
            share_url: "https://zoom.example.com/rec/share/example",
            recording_count: 2,
          },
        },
      },
    },
    bot_notification: {
      payload: {
        event: "bot_notification",
        payload: {
          accountId: "AAAAAAexample",
          channelName: "Planning",
          cmd: "what did we decide on Monday?",
          name: "Agent",
          robotJid: "v1example@xmpp.zoom.us",
          timestamp: 1795176120123,
          toJid: "example@conference.xmpp.zoom.us",
          userId: "x1yCzABCDEfg23HiJKl4mN",
          userName: "Ada Lovelace",
        },
      },
    },
  },
  setup: [
    "At marketplace.zoom.us under Develop, Build App, make a General or Webhook only app, and copy the {secret} on the page Access (or Feature) into hooks.zoom.secret.",
    "Start the gateway; under Event Subscriptions add a subscription, paste {url} as Event notification endpoint URL and press Validate.",
    "Add the events to receive, such as Meeting has started and All recordings have completed, and save.",
  ],
});

/** Zoom gives deliveries no id; what it sends again has the same time and the same object. */
function deliveryIdOf({ payload }: PresetContext): string | undefined {
  const time = lineAt(payload, "event_ts", "payload.timestamp");
  if (time === "") return undefined;
  const object = valueAt(payload, "payload.object");
  return joinText(
    ":",
    lineAt(payload, "event"),
    time,
    lineAt(object, "uuid", "id", "message_id", "session_id", "call_id"),
    lineAt(object, "participant.participant_uuid", "participant.user_id", "participant.id"),
    lineAt(payload, "payload.userId"),
  );
}

function senderOf({ payload }: PresetContext): EventActor | undefined {
  const participant = valueAt(payload, "payload.object.participant");
  const name =
    lineAt(participant, "email", "user_name") ||
    lineAt(payload, "payload.operator", "payload.userName", "payload.object.host_email");
  const id = lineAt(participant, "id", "user_id") || lineAt(payload, "payload.operator_id", "payload.userId");
  if (name === "" && id === "") return undefined;
  return { name: name || id, ...(id === "" || name === "" ? {} : { id }), bot: false };
}

const MEETING = /^(meeting|webinar)\.(started|ended|created|updated|deleted)$/;
const PARTICIPANT = /^(meeting|webinar)\.participant_(joined|left)$/;

function message(context: PresetEvent): string {
  const { payload, event = "" } = context;
  const sender = senderOf(context);
  const object = valueAt(payload, "payload.object");
  const topic = lineAt(object, "topic", "id");
  const meeting = MEETING.exec(event);
  if (meeting !== null) {
    return messageOf(
      headline(`Zoom ${meeting[1]}`, topic, meeting[2]!, phrase("by", lineAt(payload, "payload.operator"))),
      labeled("Meeting", textAt(object, "id")),
      labeled("Starts", textAt(object, "start_time")),
      labeled("Ended", textAt(object, "end_time")),
      labeled("Minutes", textAt(object, "duration")),
      idLine(object, { uuid: "uuid", host: "host_id" }),
      textAt(object, "join_url"),
    );
  }
  const participant = PARTICIPANT.exec(event);
  if (participant !== null) {
    const who = lineAt(object, "participant.user_name", "participant.email") || "A participant";
    return messageOf(
      headline(who, participant[2]!, `the Zoom ${participant[1]}`, topic),
      labeled("Mail", textAt(object, "participant.email")),
      labeled("At", textAt(object, "participant.join_time", "participant.leave_time")),
      labeled("Reason", textAt(object, "participant.leave_reason")),
      idLine(object, {
        meeting: "id",
        uuid: "uuid",
        participant: ["participant.participant_user_id", "participant.user_id"],
      }),
    );
  }
  if (event === "recording.completed" || event === "recording.transcript_completed") {
    const what = event === "recording.completed" ? "Zoom recording ready" : "Zoom transcript ready";
    return messageOf(
      headline(what, phrase("of", topic), phrase("by", lineAt(object, "host_email"))),
      labeled("Started", textAt(object, "start_time")),
      labeled("Minutes", textAt(object, "duration")),
      idLine(object, { meeting: "id", uuid: "uuid", host: "host_id" }),
      textAt(object, "share_url"),
    );
  }
  if (event === "bot_notification") {
    return messageOf(
      headline(
        "Zoom chat message",
        phrase("by", sender?.name ?? ""),
        phrase("in", lineAt(payload, "payload.channelName")),
      ),
      textAt(payload, "payload.cmd"),
      idLine(payload, {
        account: "payload.accountId",
        to: "payload.toJid",
        user: ["payload.userJid", "payload.userId"],
        robot: "payload.robotJid",
      }),
    );
  }
  if (/^chat_(?:channel_)?message\./.test(event) || event === "team_chat.app_mention") {
    return messageOf(
      headline("Zoom chat message", phrase("by", sender?.name ?? ""), phrase("in", lineAt(object, "channel_name"))),
      textAt(object, "message"),
      idLine(object, {
        channel: "channel_id",
        message: ["message_id", "id"],
        "reply to": ["reply_main_message_id", "reply_to"],
        session: "session_id",
      }),
    );
  }
  // Not the whole payload, which may hold a token for downloads.
  return unknownEvent("Zoom", context.event, sender, object ?? valueAt(payload, "payload"));
}
