import { describe, expect, it } from "vitest";
import { intercom } from "../../../../src/presets/senders/intercom.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { answerHandshake, plainCall } from "../answer-handshake.ts";

const SECRET = "invented-client-secret";
const sample = (name: string) => readSample(intercom, intercom.samples[name]!);
const notify = (topic: string, item: object) => readSample(intercom, { payload: { topic, id: "n1", data: { item } } });

describe("the preset intercom", () => {
  it.each([
    ["conversation.user.created", 1, { name: "Ada Lovelace", id: "700001", bot: false, role: "user" }, undefined],
    ["conversation.user.replied", 2, { name: "Ada Lovelace", id: "700001", bot: false, role: "user" }, undefined],
    ["conversation.admin.replied", 3, { name: "Helper", id: "600001", bot: true, role: "bot" }, undefined],
    ["contact.user.created", 4, { name: "Grace Hopper", id: "700002", bot: false, role: "contact" }, undefined],
    ["ping", 5, undefined, "Intercom checks the URL"],
  ])("knows event, id, sender and use of the sample %s", (name, number, sender, skip) => {
    const deliveryId = `notif_00000000-0000-4000-8000-00000000000${number}`;
    expect(sample(name)).toMatchObject({ event: name, deliveryId, skip, answer: undefined });
    expect(sample(name).sender).toEqual(sender);
  });

  it("shows the text of a new conversation without its HTML, and its address", () => {
    expect(sample("conversation.user.created").message).toBe(
      [
        "Intercom: conversation.user.created by Ada Lovelace",
        "Hello, my invoice is wrong.",
        "Can you look & correct it?",
        "Conversation: 9000001",
        "State: open",
        "Author: Ada Lovelace <ada@example.com>",
        "Ids: app a0example",
        "https://app.example.com/a/inbox/conversation/9000001",
      ].join("\n"),
    );
  });

  it("shows the newest part of a conversation", () => {
    expect(sample("conversation.user.replied").message).toBe(
      "Intercom: conversation.user.replied by Ada Lovelace\nIt is number 2026-118.\nConversation: 9000001\nAuthor: Ada Lovelace <ada@example.com>\nIds: app a0example\nhttps://app.intercom.com/a/apps/a0example/conversations/9000001",
    );
  });

  it("names a new contact", () => {
    expect(sample("contact.user.created").message).toBe(
      "Intercom: contact.user.created\nGrace Hopper, grace@example.com\nContact: 700002",
    );
  });

  it("renders tickets", () => {
    const item = {
      type: "ticket",
      id: "5",
      ticket_attributes: { _default_title_: "Broken", _default_description_: "It does not work." },
      ticket_state: "submitted",
      contact: { id: "c1", email: "ada@example.com" },
    };
    expect(notify("ticket.created", item)).toMatchObject({
      sender: { name: "ada@example.com", id: "c1", bot: false },
      message:
        "Intercom: ticket.created by ada@example.com\nSubject: Broken\nIt does not work.\nTicket: 5\nState: submitted\nIds: contact c1",
    });
    const part = {
      type: "ticket",
      id: "5",
      ticket_part: { body: "<p>Done</p>", author: { name: "Bob", type: "admin" } },
    };
    expect(notify("ticket.admin.replied", part)).toMatchObject({
      sender: { name: "Bob", bot: false },
      message: "Intercom: ticket.admin.replied by Bob\nDone\nTicket: 5",
    });
  });

  it("takes an answer of its AI agent for a bot's", () => {
    const source = { author: { id: "1", name: "Fin", type: "admin", from_ai_agent: true } };
    expect(notify("conversation.admin.replied", { type: "conversation", source }).sender).toMatchObject({ bot: true });
  });

  it("gives topics it does not know a generic message", () => {
    expect(notify("company.created", { type: "company", name: "Engines Ltd" }).message).toBe(
      "Intercom: company.created\ntype: company\nname: Engines Ltd",
    );
  });

  it("lists the attachments of a reply, and whom to answer", () => {
    const part = {
      part_type: "comment",
      body: "<p>Here it is.</p>",
      author: { type: "user", id: "u1", name: "Ada", email: "ada@example.com" },
      attachments: [{ type: "upload", name: "bill.pdf", url: "https://downloads.example.com/bill.pdf" }],
    };
    const item = { type: "conversation", id: "147", conversation_parts: { conversation_parts: [part] } };
    const payload = {
      type: "notification_event",
      app_id: "a86dr8yl",
      topic: "conversation.user.replied",
      data: { item },
    };
    expect(readSample(intercom, { payload }).message.split("\n").slice(1)).toEqual([
      "Here it is.",
      "Conversation: 147",
      "Author: Ada <ada@example.com>",
      "Attachment: bill.pdf https://downloads.example.com/bill.pdf",
      "Ids: app a86dr8yl",
      "https://app.intercom.com/a/apps/a86dr8yl/conversations/147",
    ]);
  });
});

describe("the handshake of intercom", () => {
  it("answers the HEAD request by which the URL is checked", async () => {
    const answered = await answerHandshake(intercom, plainCall("HEAD", "/hooks/intercom"), { secrets: [SECRET] });
    expect(answered).toMatchObject({ name: "URL check", answer: { status: 200, payload: "" } });
  });

  it("answers no GET", async () => {
    expect(await answerHandshake(intercom, plainCall("GET", "/hooks/intercom"), { secrets: [SECRET] })).toBeUndefined();
  });
});
