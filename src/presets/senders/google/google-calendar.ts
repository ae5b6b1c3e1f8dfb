import { labeled, messageOf } from "../../../core/payload-text.ts";
import { definePreset } from "../../define-preset.ts";
import { headline, lineAt, oneLine, phrase } from "../../message/headline.ts";
import { channelSample, googleChannel, pathPart } from "./google-channel.ts";

const EVENTS = "https://www.googleapis.com/calendar/v3/calendars/ada%40example.com/events?alt=json";

/** Changes of a Google calendar: only that something changed; what it was is read with a sync token. */
export const googleCalendar = definePreset({
  name: "google-calendar",
  title: "Google Calendar",
  documentation: "https://developers.google.com/workspace/calendar/api/guides/push",
  ...googleChannel,
  success: {
    statuses: "102, 200, 201, 202 or 204",
    otherwise: "500, 502, 503 and 504: tries again with growing delays; otherwise gives up",
  },
  ignored: "the sync message of a new channel. Google marks no bots",
  mapping: { name: "Google Calendar" },
  message(context) {
    const { headers, event } = context;
    const calendar = oneLine(pathPart(context, "calendars"));
    return messageOf(
      headline(
        "Google Calendar: something",
        event === "not_exists" ? "was deleted" : "changed",
        phrase("in", calendar),
      ),
      labeled("Resource", lineAt(headers, "x-goog-resource-uri")),
      labeled("Channel", lineAt(headers, "x-goog-channel-id")),
      labeled("The channel ends", lineAt(headers, "x-goog-channel-expiration")),
      "What changed is in the Calendar API: list the resource with the sync token of the last time.",
    );
  },
  samples: { exists: channelSample("exists", EVENTS), sync: channelSample("sync", EVENTS) },
  setup: [
    "Make up the {secret}, for example with openssl rand -hex 32, and set it as hooks.google-calendar.secret.",
    'Watch the calendar: POST https://www.googleapis.com/calendar/v3/calendars/primary/events/watch with {"id":"<a new UUID>","type":"web_hook","address":"{url}","token":"<the token>"}',
    "A channel ends: watch again, with a new id, before its expiration. Google takes only a URL whose certificate is valid.",
  ],
});
