import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { calcom } from "../../../../src/presets/senders/calcom.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const SECRET = "an-invented-secret-of-acme";

describe("the preset calcom", () => {
  itReadsSamples(calcom, {
    BOOKING_CREATED: {
      event: "BOOKING_CREATED",
      deliveryId: "BOOKING_CREATED.bFJeNb2uX8ANpT3JL5EfXw.2026-11-20T11:59:58.538Z",
      sender: {
        name: "ada@example.com",
        bot: false,
      },
      message: [
        "Cal.com: booking created: 30 min between Grace Hopper and Ada Byron",
        "When: 2026-11-23 09:30 UTC to 2026-11-23 10:00 UTC",
        "Organizer: Grace Hopper <grace@example.com>, Europe/Berlin",
        "Attendee: Ada Byron <ada@example.com>, Europe/London",
        "Where: https://app.cal.com/video/bFJeNb2uX8ANpT3JL5EfXw",
        "Notes: About the compiler",
        "Status: ACCEPTED",
        "Ids: booking bFJeNb2uX8ANpT3JL5EfXw, number 91",
      ],
    },
    BOOKING_CANCELLED: {
      event: "BOOKING_CANCELLED",
      deliveryId: "BOOKING_CANCELLED.bFJeNb2uX8ANpT3JL5EfXw.2026-11-20T11:59:59.538Z",
      sender: {
        name: "ada@example.com",
        bot: false,
      },
      message: [
        "Cal.com: booking cancelled: 30 min between Grace Hopper and Ada Byron",
        "When: 2026-11-23 09:30 UTC to 2026-11-23 10:00 UTC",
        "Organizer: Grace Hopper <grace@example.com>, Europe/Berlin",
        "Attendee: Ada Byron <ada@example.com>, Europe/London",
        "Where: integrations:daily",
        "Notes: About the compiler",
        "Reason: I am ill",
        "Status: CANCELLED",
        "Ids: booking bFJeNb2uX8ANpT3JL5EfXw, number 91",
      ],
    },
    PING: {
      event: "PING",
      deliveryId: "PING.bFJeNb2uX8ANpT3JL5EfXw.2026-11-20T11:59:57.538Z",
      sender: {
        name: "ada@example.com",
        bot: false,
      },
      skip: "Cal.com tests the webhook",
      message: [
        "Cal.com: ping: 30 min between Grace Hopper and Ada Byron",
        "When: 2026-11-23 09:30 UTC to 2026-11-23 10:00 UTC",
        "Organizer: Grace Hopper <grace@example.com>, Europe/Berlin",
        "Attendee: Ada Byron <ada@example.com>, Europe/London",
        "Where: integrations:daily",
        "Notes: About the compiler",
        "Status: ACCEPTED",
        "Ids: booking bFJeNb2uX8ANpT3JL5EfXw, number 91",
      ],
    },
  });

  // Cal.com writes them when the meeting is booked, without `payload` around the booking.
  it("reads a meeting that has begun or ended, which is its booking", () => {
    const booking = {
      id: 91,
      uid: "bFJeNb2uX8ANpT3JL5EfXw",
      title: "30 min between Grace Hopper and Ada Byron",
      description: "",
      startTime: "2026-11-23T09:30:00Z",
      endTime: "2026-11-23T10:00:00Z",
      createdAt: "2026-11-20T11:59:58.538Z",
      location: "integrations:daily",
      status: "ACCEPTED",
      attendees: [{ email: "ada@example.com", name: "Ada Byron" }],
    };
    const read = (more: object) =>
      readSample(calcom, { payload: { triggerEvent: "MEETING_ENDED", ...booking, ...more } });
    expect(read({})).toMatchObject({
      event: "MEETING_ENDED",
      deliveryId: "MEETING_ENDED.bFJeNb2uX8ANpT3JL5EfXw.2026-11-20T11:59:58.538Z",
      sender: { name: "ada@example.com" },
      message: [
        "Cal.com: meeting ended: 30 min between Grace Hopper and Ada Byron",
        "When: 2026-11-23 09:30 UTC to 2026-11-23 10:00 UTC",
        "Attendee: Ada Byron <ada@example.com>",
        "Where: integrations:daily",
        "Status: ACCEPTED",
        "Ids: booking bFJeNb2uX8ANpT3JL5EfXw, number 91",
      ].join("\n"),
    });
    // Bookings of a series are made at once.
    expect(read({ uid: "another" }).deliveryId).not.toBe(read({}).deliveryId);
  });

  it("has no id for an event that has no booking", () => {
    const payload = { triggerEvent: "MEETING_STARTED", id: 91 };
    expect(readSample(calcom, { payload }).deliveryId).toBeUndefined();
  });

  it("names who moved a booking", () => {
    const { payload } = calcom.samples["BOOKING_CREATED"]!.payload as { payload: object };
    const moved = { triggerEvent: "BOOKING_RESCHEDULED", payload: { ...payload, rescheduledBy: "grace@example.com" } };
    expect(readSample(calcom, { payload: moved }).sender).toEqual({ name: "grace@example.com", bot: false });
  });

  it("takes a signature over the exact body, and no other", async () => {
    const sign = (body: Uint8Array): string => createHmac("sha256", SECRET).update(body).digest("hex");
    const call = sampleCall(calcom, "BOOKING_CREATED", (body) => ({ "x-cal-signature-256": sign(body) }));
    const verify = (changes: object, headers: object = {}) =>
      verifyCall(calcom, { ...call, ...changes, headers: { ...call.headers, ...headers } }, { secrets: [SECRET] });
    expect((await verify({})).ok).toBe(true);
    for (const refused of [
      verify({ body: Buffer.concat([call.body, Buffer.from(" ")]) }),
      verify({}, { "x-cal-signature-256": sign(Buffer.from("other")) }),
      verify({}, { "x-cal-signature-256": undefined }),
    ]) {
      expect((await refused).ok).toBe(false);
    }
  });
});
