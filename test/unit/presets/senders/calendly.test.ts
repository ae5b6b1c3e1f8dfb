import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { calendly } from "../../../../src/presets/senders/calendly.ts";
import { NOW, receivedCall, readSample, signSample, verifyCall } from "../../../../src/testing/preset-probe.ts";

const KEY = "a-signing-key-of-calendly-0123456789";
const read = (event: string, payload: unknown) => readSample(calendly, { payload: { event, payload } });

describe("calendly", () => {
  it.each(Object.entries(calendly.samples))(
    "names the event of its sample %s, and an id of its own",
    (name, sample) => {
      const { event, deliveryId, skip, answer } = readSample(calendly, sample);
      expect({ event, skip, answer }).toEqual({ event: name, skip: undefined, answer: undefined });
      expect(deliveryId).toBe(
        `${name}.${(sample.payload as { payload: { uri: string } }).payload.uri}.2026-11-20T11:59:00.000000Z`,
      );
    },
  );

  it("names the booker, the booking and its time", () => {
    expect(readSample(calendly, calendly.samples["invitee.created"]!).message).toBe(
      [
        "Ada Byron <ada@example.com> booked 30 minutes with us on 2026-12-01 14:00 UTC",
        "Until: 2026-12-01 14:30 UTC",
        "Time zone of the invitee: Europe/Rome",
        "Where: https://meet.example.com/sample",
        "With: host@example.com",
        "What shall we talk about?: The engine",
        "Id: https://api.calendly.com/scheduled_events/SAMPLE/invitees/SAMPLE",
        "Reschedule: https://calendly.com/reschedulings/SAMPLE",
      ].join("\n"),
    );
  });

  it("says why an invitee canceled", () => {
    expect(readSample(calendly, calendly.samples["invitee.canceled"]!).message).toMatch(
      /^Grace Murray <grace@example\.com> canceled 30 minutes with us on 2026-12-01 14:00 UTC: A cold\n/,
    );
  });

  it("reports when the host canceled", () => {
    const cancellation = { canceled_by: "Our Host", canceler_type: "host", reason: "Snow" };
    const { message, sender } = read("invitee.canceled", { email: "ada@example.com", cancellation });
    expect(message).toBe("Our Host canceled a meeting with ada@example.com: Snow");
    expect(sender).toEqual({ name: "Our Host", bot: false });
    const { message: nameless } = read("invitee.canceled", {
      email: "a@example.com",
      cancellation: { canceler_type: "host" },
    });
    expect(nameless).toBe("The host canceled a meeting with a@example.com");
  });

  it.each([
    [{ rescheduled: true }, "It was rescheduled: a new booking comes on its own."],
    [{ old_invitee: "https://api.calendly.com/x" }, "It takes the place of an earlier booking."],
    [{ payment: { amount: 50, currency: "USD" } }, "Paid: 50 USD"],
  ])("says of %j: %s", (further, line) => {
    expect(read("invitee.created", { name: "Ada", ...further }).message).toBe(`Ada booked a meeting\n${line}`);
  });

  it("lists the answers of a routing form", () => {
    expect(readSample(calendly, calendly.samples["routing_form_submission.created"]!).message).toMatch(
      /^A routing form was answered\nSize of your team: 12\nEmail: ada@example\.com\n/,
    );
  });

  it("lists the fields of what it has no words for", () => {
    expect(read("event_type.created", { uri: "u-1", name: "Tea" }).message).toBe(
      "Calendly event event_type.created\nuri: u-1\nname: Tea\nId: u-1",
    );
  });

  it.each([
    [
      { email: "ada@example.com", name: "Ada" },
      { name: "ada@example.com", id: "Ada", bot: false },
    ],
    [{ email: "ada@example.com" }, { name: "ada@example.com", bot: false }],
    [{ name: "Ada" }, { name: "Ada", bot: false }],
    [{}, undefined],
  ])("knows from %j who booked", (payload, sender) => {
    expect(read("invitee.created", payload).sender).toEqual(sender);
  });

  it.each(["event_type.updated", "contact.updated", "meeting_recap.created"])(
    "takes no name of what %s is about for a person who acted",
    (event) => {
      expect(read(event, { name: "30 minutes with us", email: "ada@example.com" }).sender).toBeUndefined();
    },
  );

  it("verifies the time and the body, for three minutes", async () => {
    const signed = signSample(calendly, calendly.samples["invitee.created"]!, { secrets: [KEY], key: KEY });
    const seconds = NOW / 1_000;
    const expected = createHmac("sha256", KEY).update(`${seconds}.`).update(signed.body).digest("hex");
    expect(signed.headers["calendly-webhook-signature"]).toBe(`t=${seconds},v1=${expected}`);
    const at = (late: number) =>
      verifyCall(calendly, receivedCall(signed, { receivedAt: NOW + late }), { secrets: [KEY] });
    expect([(await at(0)).ok, (await at(180_000)).ok, (await at(181_000)).ok, (await at(-181_000)).ok]).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});
