import { itemLines, joinText, labeled, listAt, messageOf, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { eventActor } from "../event-fields.ts";
import { dataLines } from "../message/data-lines.ts";
import type { EventActor } from "../../core/delivery.ts";
import { bodyAt, headline, idLine, lineAt, spoken, titled } from "../message/headline.ts";
import { personText, timeText } from "../message/value-text.ts";
import type { PresetContext, PresetEvent } from "../preset.ts";

const booking = {
  type: "30min",
  title: "30 min between Grace Hopper and Ada Byron",
  description: "",
  additionalNotes: "About the compiler",
  startTime: "2026-11-23T09:30:00Z",
  endTime: "2026-11-23T10:00:00Z",
  organizer: { id: 5, name: "Grace Hopper", email: "grace@example.com", username: "grace", timeZone: "Europe/Berlin" },
  attendees: [{ email: "ada@example.com", name: "Ada Byron", timeZone: "Europe/London", language: { locale: "en" } }],
  location: "integrations:daily",
  uid: "bFJeNb2uX8ANpT3JL5EfXw",
  bookingId: 91,
  eventTypeId: 7,
  status: "ACCEPTED",
};

/** Webhooks of Cal.com, about bookings, meetings and forms. */
export const calcom = definePreset({
  name: "calcom",
  title: "Cal.com",
  documentation: "https://cal.com/docs/core-features/webhooks",
  auth: { scheme: "signature", from: "header:x-cal-signature-256", content: "{body}" },
  secret: { label: "Secret", madeBy: "owner" },
  event: "body:triggerEvent",
  deliveryId: { from: idOf, where: "body:triggerEvent + body:payload.uid + body:createdAt", signed: true },
  sender: senderOf,
  skip: ({ event }) => (event === "PING" ? "Cal.com tests the webhook" : undefined),
  ignored: "the ping test. Cal.com marks no bots",
  success: { statuses: "2xx", otherwise: "does not try again" },
  mapping: { name: "Cal.com", maxBodyBytes: 1_048_576 },
  message,
  samples: {
    BOOKING_CREATED: {
      payload: {
        triggerEvent: "BOOKING_CREATED",
        createdAt: "2026-11-20T11:59:58.538Z",
        payload: { ...booking, metadata: { videoCallUrl: "https://app.cal.com/video/bFJeNb2uX8ANpT3JL5EfXw" } },
      },
    },
    BOOKING_CANCELLED: {
      payload: {
        triggerEvent: "BOOKING_CANCELLED",
        createdAt: "2026-11-20T11:59:59.538Z",
        payload: {
          ...booking,
          status: "CANCELLED",
          cancellationReason: "I am ill",
          cancelledBy: "ada@example.com",
        },
      },
    },
    PING: { payload: { triggerEvent: "PING", createdAt: "2026-11-20T11:59:57.538Z", payload: booking } },
  },
  setup: [
    "In Cal.com open Settings, Developer, Webhooks, and choose New.",
    "Subscriber URL: {url}. Choose the events, and leave the payload template off.",
    "Secret: choose the {secret}, for example with openssl rand -hex 32, and set the same as hooks.calcom.secret.",
    "Choose Ping test, which the gateway takes and skips.",
  ],
});

/** The begin and the end of a meeting come as the booking itself, with nothing around it. */
function bookingOf(payload: unknown): unknown {
  return valueAt(payload, "payload") ?? payload;
}

/** Without a booking the time alone could be that of another event. */
function idOf({ payload }: PresetContext): string | undefined {
  const [booking, event, time] = [
    lineAt(bookingOf(payload), "uid"),
    lineAt(payload, "triggerEvent"),
    lineAt(payload, "createdAt"),
  ];
  return booking === "" || time === "" ? undefined : joinText(".", event, booking, time);
}

/** An attendee books; a booking that is canceled or moved names the address of the person who did it. */
function senderOf({ payload }: PresetContext): EventActor | undefined {
  return eventActor(lineAt(bookingOf(payload), "cancelledBy", "rescheduledBy", "attendees[0].email"));
}

function message({ payload, event = "" }: PresetEvent): string {
  const about = bookingOf(payload);
  const title = lineAt(about, "title");
  if (title === "")
    return messageOf(headline("Cal.com:", spoken(event).toLowerCase() || "new event"), dataLines(about));
  return messageOf(
    titled(headline("Cal.com:", spoken(event).toLowerCase()), title),
    labeled("When", joinText(" to ", timeText(valueAt(about, "startTime")), timeText(valueAt(about, "endTime")))),
    labeled("Organizer", personAt(valueAt(about, "organizer"))),
    itemLines(listAt(about, "attendees"), (attendee) => labeled("Attendee", personAt(attendee))),
    labeled("Where", lineAt(about, "metadata.videoCallUrl", "videoCallData.url", "location")),
    labeled("Notes", bodyAt(about, "additionalNotes", "description")),
    labeled("Reason", bodyAt(about, "cancellationReason", "rejectionReason")),
    labeled("Status", lineAt(about, "status")),
    idLine(about, { booking: "uid", "rescheduled from": "rescheduleUid", number: ["bookingId", "id"] }),
  );
}

function personAt(person: unknown): string {
  const zone = lineAt(person, "timeZone");
  return joinText(", ", personText(lineAt(person, "name"), lineAt(person, "email")), zone);
}
