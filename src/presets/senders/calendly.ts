import { definePreset } from "../define-preset.ts";
import { eventActor } from "../event-fields.ts";
import { itemLines, joinText, labeled, listAt, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { EventActor, PresetContext, PresetEvent, PresetSample } from "../preset.ts";
import { capitalized, headline, lineAt, phrase, titled } from "../message/headline.ts";
import { decimalAmount } from "../message/value-text.ts";
import { personText } from "../message/value-text.ts";
import { timeText } from "../message/value-text.ts";
import { genericMessage } from "../message/unknown-event.ts";

/** The action of an invitee. */
const VERBS: Readonly<Record<string, string>> = {
  "invitee.created": "booked",
  "invitee.canceled": "canceled",
  "invitee_no_show.created": "did not come to",
  "invitee_no_show.deleted": "came to",
};

/** Bookings and cancellations of Calendly. */
export const calendly = definePreset({
  name: "calendly",
  title: "Calendly",
  documentation:
    "https://developer.calendly.com/receive-data-from-scheduled-events-in-real-time-with-webhook-subscriptions",
  auth: {
    scheme: "signature",
    from: "header:calendly-webhook-signature",
    pair: "v1",
    separator: ",",
    content: "{timestamp}.{body}",
    timestamp: { from: "pair:t", toleranceSeconds: 180 },
  },
  secret: { label: "Signing key", madeBy: "owner" },
  event: "body:event",
  // An invitee's URI is the same when the booking is canceled.
  deliveryId: { from: ["body:event", "body:payload.uri", "body:created_at"], signed: true },
  sender: senderOf,
  message,
  mapping: { name: "Calendly" },
  success: { statuses: "2xx", otherwise: "tries again for 24 hours, then disables the webhook" },
  ignored: "nothing. Calendly marks no bots",
  samples: {
    "invitee.created": sample("invitee.created", {
      email: "ada@example.com",
      name: "Ada Byron",
      status: "active",
      timezone: "Europe/Rome",
      questions_and_answers: [{ question: "What shall we talk about?", answer: "The engine", position: 0 }],
      rescheduled: false,
      old_invitee: null,
      new_invitee: null,
    }),
    "invitee.canceled": sample("invitee.canceled", {
      email: "grace@example.com",
      name: "Grace Murray",
      status: "canceled",
      timezone: "America/New_York",
      cancellation: { canceled_by: "Grace Murray", reason: "A cold", canceler_type: "invitee" },
      rescheduled: false,
    }),
    "routing_form_submission.created": {
      payload: {
        created_at: "2026-11-20T11:59:00.000000Z",
        created_by: "https://api.calendly.com/users/SAMPLEHOST",
        event: "routing_form_submission.created",
        payload: {
          uri: "https://api.calendly.com/routing_form_submissions/SAMPLE",
          routing_form: "https://api.calendly.com/routing_forms/SAMPLE",
          questions_and_answers: [
            { question_uuid: "q1", question: "Size of your team", answer: "12" },
            { question_uuid: "q2", question: "Email", answer: "ada@example.com" },
          ],
          submitter: null,
        },
      },
    },
  },
  setup: [
    "Create the subscription by Calendly's API: POST https://api.calendly.com/webhook_subscriptions with a personal access token.",
    "Give it url {url}, the events invitee.created and invitee.canceled, your organization, and the scope organization or user.",
    "Give it the {secret}, which you choose, as signing_key, and put the same in the configuration.",
    "Calendly recommends to refuse a signed time of more than 3 minutes ago, so a retry has to be signed again. If retries are refused as too old, set hooks.calendly.auth.timestamp.toleranceSeconds to 86400 (a day); copies are still recognized.",
  ],
});

/** The person who booked, or who canceled: the host may have. Other events name only what they are about. */
function senderOf({ payload }: PresetContext): EventActor | undefined {
  if (!lineAt(payload, "event").startsWith("invitee")) return undefined;
  const email = lineAt(payload, "payload.email");
  const canceledBy = lineAt(payload, "payload.cancellation.canceled_by");
  if (canceledBy !== "" && hostCanceled(valueAt(payload, "payload"))) return eventActor(canceledBy);
  const name = lineAt(payload, "payload.name");
  return eventActor(email || name, name);
}

function message({ payload, event }: PresetEvent): string {
  const object = valueAt(payload, "payload");
  const answers = itemLines(listAt(object, "questions_and_answers"), answerLine);
  const uri = labeled("Id", lineAt(object, "uri"));
  const invitee = personText(lineAt(object, "name"), lineAt(object, "email"));
  if (event === undefined || !Object.hasOwn(VERBS, event) || invitee === "") {
    const isForm = event === "routing_form_submission.created" && answers.length > 0;
    if (!isForm) return genericMessage({ title: "Calendly", event, object, lines: [uri] });
    return messageOf("A routing form was answered", answers, labeled("Form", lineAt(object, "routing_form")), uri);
  }
  const what = lineAt(object, "scheduled_event.name") || "a meeting";
  const start = timeText(valueAt(object, "scheduled_event.start_time"));
  return messageOf(
    titled(
      headline(
        actorOf(object, invitee),
        VERBS[event]!,
        what,
        phrase("with", hostCanceled(object) ? invitee : ""),
        phrase("on", start),
      ),
      lineAt(object, "cancellation.reason"),
    ),
    rescheduling(object),
    labeled("Until", timeText(valueAt(object, "scheduled_event.end_time"))),
    labeled("Time zone of the invitee", lineAt(object, "timezone")),
    labeled("Where", lineAt(object, "scheduled_event.location.join_url", "scheduled_event.location.location")),
    labeled("With", hostsOf(object)),
    answers,
    labeled("Paid", decimalAmount(valueAt(object, "payment.amount"), valueAt(object, "payment.currency"))),
    uri,
    labeled("Reschedule", lineAt(object, "reschedule_url")),
  );
}

function hostCanceled(object: unknown): boolean {
  return lineAt(object, "cancellation.canceler_type") === "host";
}

/** The invitee, unless the host canceled. */
function actorOf(object: unknown, invitee: string): string {
  return hostCanceled(object) ? lineAt(object, "cancellation.canceled_by") || "The host" : invitee;
}

/** A rescheduled booking comes as a cancellation of the old one and a new one. */
function rescheduling(object: unknown): string {
  if (valueAt(object, "rescheduled") === true) return "It was rescheduled: a new booking comes on its own.";
  return lineAt(object, "old_invitee") === "" ? "" : "It takes the place of an earlier booking.";
}

function hostsOf(object: unknown): string {
  const hosts = listAt(object, "scheduled_event.event_memberships").slice(0, 10);
  return joinText(", ", ...hosts.map((host) => lineAt(host, "user_email", "user_name")));
}

function answerLine(item: unknown): string {
  return labeled(capitalized(lineAt(item, "question")) || "Answer", textAt(item, "answer"));
}

/** An invitee with the meeting, as Calendly sends it. */
function sample(event: string, invitee: Readonly<Record<string, unknown>>): PresetSample {
  return {
    payload: {
      created_at: "2026-11-20T11:59:00.000000Z",
      created_by: "https://api.calendly.com/users/SAMPLEHOST",
      event,
      payload: {
        ...invitee,
        cancel_url: "https://calendly.com/cancellations/SAMPLE",
        event: "https://api.calendly.com/scheduled_events/SAMPLE",
        reschedule_url: "https://calendly.com/reschedulings/SAMPLE",
        scheduled_event: {
          uri: "https://api.calendly.com/scheduled_events/SAMPLE",
          name: "30 minutes with us",
          start_time: "2026-12-01T14:00:00.000000Z",
          end_time: "2026-12-01T14:30:00.000000Z",
          event_memberships: [{ user: "https://api.calendly.com/users/SAMPLEHOST", user_email: "host@example.com" }],
          location: { type: "google_conference", join_url: "https://meet.example.com/sample" },
        },
        uri: "https://api.calendly.com/scheduled_events/SAMPLE/invitees/SAMPLE",
      },
    },
  };
}
