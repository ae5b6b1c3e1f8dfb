import { definePreset } from "../define-preset.ts";
import { eventActor } from "../event-fields.ts";
import { joinText, labeled, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { EventActor, PresetContext, PresetEvent } from "../preset.ts";
import { headline, idLine, lineAt, phrase } from "../message/headline.ts";
import { unknownEvent } from "../message/unknown-event.ts";

/** Stations of an outgoing message on its way; only its failure is news. */
const ON_THE_WAY: ReadonlySet<string> = new Set([
  "accepted",
  "scheduled",
  "queued",
  "sending",
  "sent",
  "delivered",
  "read",
]);
/** Stations of a call that has not ended. */
const CALL_UNDER_WAY: ReadonlySet<string> = new Set(["queued", "initiated", "ringing", "in-progress", "answered"]);
const MAX_MEDIA = 10;

/**
 * Incoming messages and calls, and status callbacks of outgoing ones.
 *
 * Twilio signs the URL it was given, so `hooks.publicUrl` has to be that URL's beginning. It reads the
 * answer as TwiML: an empty `<Response/>` says nothing to a sender, and ends an incoming call.
 */
export const twilio = definePreset({
  name: "twilio",
  title: "Twilio",
  text: "plain",
  documentation: "https://www.twilio.com/docs/usage/webhooks/webhooks-security",
  auth: {
    scheme: "signature",
    algorithm: "hmac-sha1",
    encoding: "base64",
    from: "header:x-twilio-signature",
    content: "{url}{form}",
    anyPort: true,
    bodyDigest: { from: "query:bodySHA256", algorithm: "sha256", encoding: "hex" },
  },
  secret: { label: "Auth Token", madeBy: "sender", minLength: 32 },
  event: ({ payload }) => eventOf(payload),
  eventWhere: "message, call or recording, with its status",
  deliveryId: {
    from: deliveryIdOf,
    signed: true,
    where: "body:MessageSid, body:CallSid or body:RecordingSid, with its status",
  },
  sender: senderOf,
  skip: skipOf,
  answer: { status: 200, contentType: "text/xml", body: "<Response/>" },
  message,
  mapping: { name: "Twilio", accept: ["json", "form"] },
  success: { statuses: "2xx with TwiML", otherwise: "calls the fallback URL of the number, if there is one" },
  ignored: "the states of outgoing messages and calls that are not final",
  samples: {
    "message.received": {
      format: "form",
      payload: {
        ToCountry: "US",
        SmsMessageSid: "SM00000000000000000000000000000001",
        NumMedia: "1",
        MediaContentType0: "image/jpeg",
        MediaUrl0: "https://api.example.com/media/ME00000000000000000000000000000001",
        SmsStatus: "received",
        Body: "The delivery is at the back door, see the picture.",
        To: "+15550100001",
        From: "+15550100002",
        ProfileName: "Ada",
        MessageSid: "SM00000000000000000000000000000001",
        AccountSid: "AC00000000000000000000000000000000",
        ApiVersion: "2010-04-01",
      },
    },
    "message.undelivered": {
      format: "form",
      payload: {
        MessageSid: "SM00000000000000000000000000000002",
        SmsSid: "SM00000000000000000000000000000002",
        MessageStatus: "undelivered",
        SmsStatus: "undelivered",
        ErrorCode: "30003",
        To: "+15550100003",
        From: "+15550100001",
        AccountSid: "AC00000000000000000000000000000000",
        ApiVersion: "2010-04-01",
      },
    },
    "message.delivered": {
      format: "form",
      payload: {
        MessageSid: "SM00000000000000000000000000000003",
        SmsSid: "SM00000000000000000000000000000003",
        MessageStatus: "delivered",
        SmsStatus: "delivered",
        To: "+15550100003",
        From: "+15550100001",
        AccountSid: "AC00000000000000000000000000000000",
        ApiVersion: "2010-04-01",
      },
    },
    "call.ringing": {
      format: "form",
      payload: {
        CallSid: "CA00000000000000000000000000000001",
        AccountSid: "AC00000000000000000000000000000000",
        From: "+15550100002",
        To: "+15550100001",
        CallStatus: "ringing",
        Direction: "inbound",
        CallerName: "ADA LOVELACE",
        ApiVersion: "2010-04-01",
      },
    },
    "call.completed": {
      format: "form",
      payload: {
        CallSid: "CA00000000000000000000000000000002",
        AccountSid: "AC00000000000000000000000000000000",
        From: "+15550100001",
        To: "+15550100003",
        CallStatus: "completed",
        Direction: "outbound-api",
        CallDuration: "73",
        SequenceNumber: "3",
        ApiVersion: "2010-04-01",
      },
    },
  },
  setup: [
    "In the Twilio Console copy the {secret} of the account into hooks.twilio.secret.",
    "Set hooks.publicUrl to the address by which Twilio reaches the gateway: Twilio signs it.",
    "For incoming messages paste {url} under Phone Numbers, Active numbers, your number, Messaging, A message comes in (HTTP POST).",
    "For calls paste {url} as Call status changes, not as A call comes in, unless calls are to be ended at once.",
  ],
});

/** The end of a call that was recorded names its recording too; only it has the call's duration. */
function isOfRecording(payload: unknown): boolean {
  return lineAt(payload, "RecordingSid") !== "" && lineAt(payload, "CallDuration") === "";
}

function eventOf(payload: unknown): string | undefined {
  if (isOfRecording(payload)) return joinText(".", "recording", lineAt(payload, "RecordingStatus") || "completed");
  if (lineAt(payload, "CallSid") !== "") return joinText(".", "call", lineAt(payload, "CallStatus"));
  if (lineAt(payload, "MessageSid", "SmsSid") === "") return undefined;
  return joinText(".", "message", lineAt(payload, "MessageStatus", "SmsStatus") || "received");
}

function deliveryIdOf({ payload }: PresetContext): string | undefined {
  // The words or keys of a caller arrive several times in one call, under the same status.
  if (valueAt(payload, "Digits") !== undefined || valueAt(payload, "SpeechResult") !== undefined) return undefined;
  // What was said in a recording comes after the recording, and with the same id of it.
  const ids = isOfRecording(payload) ? ["TranscriptionSid", "RecordingSid"] : ["CallSid", "MessageSid", "SmsSid"];
  const id = lineAt(payload, ...ids);
  if (id === "") return undefined;
  const statuses = ["CallStatus", "MessageStatus", "SmsStatus"];
  return joinText(
    ":",
    id,
    lineAt(payload, ...(isOfRecording(payload) ? ["RecordingStatus", ...statuses] : statuses)),
    lineAt(payload, "SequenceNumber"),
  );
}

function senderOf({ payload }: PresetContext): EventActor | undefined {
  const id = lineAt(payload, "From", "Caller");
  const name = lineAt(payload, "ProfileName", "CallerName") || id;
  return eventActor(name, id);
}

function skipOf({ payload, event = "" }: PresetEvent): string | undefined {
  const [kind, status = ""] = event.split(".");
  if (kind === "message" && ON_THE_WAY.has(status)) return "an outgoing message is on its way";
  const isOutgoing = textAt(payload, "Direction").startsWith("outbound");
  return kind === "call" && isOutgoing && CALL_UNDER_WAY.has(status) ? "an outgoing call is in progress" : undefined;
}

function message(context: PresetEvent): string {
  const { payload, event = "" } = context;
  const sender = senderOf(context);
  const [kind] = event.split(".");
  const status = event.slice(event.indexOf(".") + 1);
  const from = phrase("from", fromOf(sender));
  const to = phrase("to", lineAt(payload, "To", "Called"));
  if (event === "message.received" || event === "message.receiving") {
    return messageOf(
      headline("Message", from, to),
      textAt(payload, "Body"),
      ...mediaOf(payload),
      labeled("Location", joinText(", ", textAt(payload, "Latitude"), textAt(payload, "Longitude"))),
      labeled("Choice", textAt(payload, "ButtonPayload", "ListId")),
      idLine(payload, {
        message: ["MessageSid", "SmsSid"],
        "reply to": "OriginalRepliedMessageSid",
        account: "AccountSid",
        service: "MessagingServiceSid",
      }),
    );
  }
  if (kind === "message") {
    return messageOf(
      headline("Message", to, phrase("is", status)),
      labeled("Error", headline(textAt(payload, "ErrorCode"), textAt(payload, "ErrorMessage"))),
      labeled("Message", textAt(payload, "MessageSid", "SmsSid")),
    );
  }
  if (kind === "call") {
    return messageOf(
      headline("Call", from, to, phrase("is", status === "call" ? "" : status)),
      labeled("Duration in seconds", textAt(payload, "CallDuration", "Duration")),
      labeled("Said", textAt(payload, "SpeechResult")),
      labeled("Pressed", textAt(payload, "Digits")),
      labeled("Recording", textAt(payload, "RecordingUrl")),
      labeled("Call", textAt(payload, "CallSid")),
    );
  }
  if (kind === "recording") {
    return messageOf(
      headline("Recording of a call is", status),
      labeled("Duration in seconds", textAt(payload, "RecordingDuration")),
      textAt(payload, "TranscriptionText"),
      idLine(payload, { call: "CallSid", recording: "RecordingSid" }),
      textAt(payload, "RecordingUrl"),
    );
  }
  return unknownEvent("Twilio", context.event, sender, payload);
}

function fromOf(sender: EventActor | undefined): string {
  if (sender === undefined) return "";
  return sender.id === undefined ? sender.name : `${sender.name} (${sender.id})`;
}

function mediaOf(payload: unknown): readonly string[] {
  return Array.from({ length: MAX_MEDIA }, (_, at) => {
    const url = textAt(payload, `MediaUrl${at}`);
    return url === "" ? "" : labeled("Attached", headline(textAt(payload, `MediaContentType${at}`), url));
  });
}
