import { describe, expect, it } from "vitest";
import { agentmail } from "../../../../src/presets/senders/agentmail.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

describe("the preset agentmail", () => {
  itReadsSamples(agentmail, {
    "message.received": {
      event: "message.received",
      deliveryId: "evt_123abc",
      sender: { name: "Ada Byron", id: "ada@example.com", bot: false },
      message: [
        "New mail from Ada Byron <ada@example.com>: Re: Your order 1007",
        "To: Support <support@agentmail.to>",
        "Date: 2026-11-20T11:59:58Z",
        "Message id: <CAF=ada-2@mail.example.com>",
        "In reply to: <order-1007@shop.example.com>",
        "References: <order-1007@shop.example.com>",
        "Attachment: receipt.pdf (application/pdf, 18231 bytes)",
        "Where is it?",
        "Inbox: support@agentmail.to",
        "Thread: thd_789ghi",
      ],
    },
    "message.bounced": {
      event: "message.bounced",
      deliveryId: "evt_456def",
      message: [
        "AgentMail: message bounced",
        "inbox_id: support@agentmail.to",
        "thread_id: thd_789ghi",
        "message_id: <0102@agentmail.to>",
        "timestamp: 2026-11-20T11:59:59Z",
        "type: Permanent",
        "sub_type: General",
        'recipients: [{"address":"ada@example.com","status":"bounced"}]',
      ],
    },
  });

  it.each([
    ["calendar.event.starting", { inbox_id: "a@agentmail.to", calendar_event: { title: "Stand-up" } }],
    ["message.opened", { open: { inbox_id: "a@agentmail.to" } }],
    ["something.new", { thing: "Stand-up" }],
  ])("shows what an event of %s is about", (event_type, more) => {
    const { message } = readSample(agentmail, { payload: { type: "event", event_type, event_id: "evt_1", ...more } });
    expect(message).toContain(event_type === "message.opened" ? "a@agentmail.to" : "Stand-up");
    expect(message).not.toContain("evt_1");
  });

  it("shows a mail that is HTML alone, and its preview only when nothing else is there", () => {
    const read = (more: object) =>
      readSample(agentmail, { payload: { event_type: "message.received", message: { from: "a@b.example", ...more } } });
    const html = "<p>Where is it?</p><p>I ordered it in May.</p>";
    expect(read({ preview: "Where is it? I ord", html }).message).toBe(
      "New mail from a@b.example\nWhere is it?\nI ordered it in May.",
    );
    expect(read({ preview: "Where is it? I ord" }).message).toBe("New mail from a@b.example\nWhere is it? I ord");
  });

  it("says why a mail was kept apart, and who wrote it in older webhooks", () => {
    const message = {
      from: [{ name: "Jane Doe", email: "jane@example.com" }],
      to: [{ name: "Support", email: "support@agentmail.to" }],
      headers: { "Auto-Submitted": "auto-replied" },
    };
    expect(readSample(agentmail, { payload: { event_type: "message.received.spam", message } })).toMatchObject({
      sender: { name: "Jane Doe", id: "jane@example.com", bot: true },
      message: "New mail from Jane Doe <jane@example.com>\nTo: support@agentmail.to\nChecks: spam",
    });
  });
});
