import { describe, expect, it } from "vitest";
import { zendesk } from "../../../../src/presets/senders/zendesk.ts";
import { receivedCall, NOW, readSample, signSample, verifyCall } from "../../../../src/testing/preset-probe.ts";

const SECRET = "invented-signing-secret";
const sample = (name: string) => readSample(zendesk, zendesk.samples[name]!);
const event = (type: string, more: object) =>
  readSample(zendesk, { payload: { type: `zen:event-type:${type}`, id: "e1", subject: "zen:ticket:7", ...more } });

describe("the preset zendesk", () => {
  it.each([
    ["ticket.comment_added", "c0000000-0000-4000-8000-000000000001", "Ada Lovelace"],
    ["ticket.status_changed", "c0000000-0000-4000-8000-000000000002", "700009"],
    ["trigger", "01JEXAMPLE0000000000000003", "Grace Hopper"],
  ])("knows event, id and sender of the sample %s", (name, deliveryId, sender) => {
    expect(sample(name)).toMatchObject({
      event: name,
      deliveryId,
      sender: { name: sender, bot: false },
      skip: undefined,
      answer: undefined,
    });
  });

  it("does not claim that the id is signed, since that of a trigger is a header", () => {
    expect(zendesk.deliveryIdSigned).toBe(false);
  });

  it("shows a comment with its ticket", () => {
    expect(sample("ticket.comment_added").message).toBe(
      [
        "Zendesk ticket #118 comment added by Ada Lovelace",
        "Subject: The printer is on fire",
        "Status: OPEN",
        "Priority: HIGH",
        "It has stopped burning, but it does not print.",
        "Ids: comment 900001, requester 700001, author 700001",
      ].join("\n"),
    );
  });

  it("marks an internal note", () => {
    const comment = { body: "Do not tell them.", is_public: false, author: { name: "Bob" } };
    expect(event("ticket.comment_added", { event: { comment } }).message).toBe(
      "Zendesk ticket #7 comment added by Bob\nInternal note: Do not tell them.",
    );
  });

  it("shows what changed", () => {
    expect(sample("ticket.status_changed").message).toBe(
      [
        "Zendesk ticket #118 status changed by 700009",
        "Subject: The printer is on fire",
        "Before: OPEN",
        "Now: SOLVED",
        "Status: SOLVED",
        "Ids: author 700009",
      ].join("\n"),
    );
    expect(event("ticket.tags_changed", { event: { tags_added: ["vip", "late"] } }).message).toBe(
      "Zendesk ticket #7 tags changed\nTags added: vip, late",
    );
  });

  it("shows the description of a new ticket", () => {
    const detail = { subject: "Help", description: "It is broken." };
    expect(event("ticket.created", { detail }).message).toBe("Zendesk ticket #7 created\nSubject: Help\nIt is broken.");
  });

  it("takes messages of triggers and of the system for a bot's", () => {
    const actor = (type: string) => ({
      event: { actor: { id: "a", name: "Answer bot", type }, message: { body: "Hi" } },
    });
    expect(event("messaging_ticket.message_added", actor("system")).sender).toEqual({
      name: "Answer bot",
      id: "a",
      bot: true,
    });
    expect(event("messaging_ticket.message_added", actor("trigger")).sender).toMatchObject({ bot: true });
    expect(event("messaging_ticket.message_added", actor("end_user")).sender).toMatchObject({ bot: false });
  });

  it("renders what a trigger posts", () => {
    expect(sample("trigger").message).toBe(
      [
        "Zendesk ticket #119 by Grace Hopper",
        "Subject: Password forgotten",
        "Status: New",
        "Priority: Normal",
        "I cannot log in any more.",
        "https://example.zendesk.com/agent/tickets/119",
      ].join("\n"),
    );
    const own = readSample(zendesk, { payload: { event: "escalated", ticket: { id: 9, title: "T" } } });
    expect(own).toMatchObject({ event: "escalated", message: "Zendesk ticket #9 escalated\nSubject: T" });
  });

  it("gives events it does not know a generic message", () => {
    const user = { subject: "zen:user:5", detail: { email: "ada@example.com", role: "end-user" } };
    expect(event("user.created", user).message).toBe("Zendesk: user.created\nemail: ada@example.com\nrole: end-user");
    expect(readSample(zendesk, { payload: { hello: "world" } }).message).toBe("Zendesk sent an event\nhello: world");
  });

  it("refuses the secret with which Zendesk tests webhooks that are not saved yet", () => {
    expect(zendesk.secret?.known).toEqual(["dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ=="]);
  });
});

describe("the signature of zendesk", () => {
  const options = { secrets: [SECRET] };
  const signed = () => signSample(zendesk, zendesk.samples["trigger"]!, { key: SECRET, ...options });

  it("is taken with its time as ISO 8601", async () => {
    expect(signed().headers["x-zendesk-webhook-signature-timestamp"]).toMatch(/^2026-11-20T12:00:00/);
    expect(await verifyCall(zendesk, receivedCall(signed()), options)).toMatchObject({ ok: true });
  });

  it("is refused for another body, another time and a stale one", async () => {
    const call = receivedCall(signed());
    const flipped = Buffer.from(call.body);
    flipped[3]! ^= 1;
    expect(await verifyCall(zendesk, { ...call, body: flipped }, options)).toMatchObject({ ok: false });
    const headers = { ...call.headers, "x-zendesk-webhook-signature-timestamp": "2026-11-20T12:00:01Z" };
    expect(await verifyCall(zendesk, { ...call, headers }, options)).toMatchObject({ ok: false });
    expect(await verifyCall(zendesk, { ...call, receivedAt: NOW + 301_000 }, options)).toMatchObject({ ok: false });
  });
});
