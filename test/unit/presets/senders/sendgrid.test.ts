import { describe, expect, it } from "vitest";
import { sendgrid } from "../../../../src/presets/senders/sendgrid.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

describe("the preset sendgrid", () => {
  itReadsSamples(sendgrid, {
    bounce: {
      event: "bounce",
      deliveryId: "Ym91bmNlLTEtZXhhbXBsZQ",
      message: [
        "SendGrid: bounce for the mail to ada@example.com",
        "Reason: 550 5.1.1 The email account that you tried to reach does not exist",
        "Category: order",
        "Message id: 14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0",
      ],
    },
    several: {
      event: "delivered+click",
      deliveryId: "sha256-fb293612e88ce2f640ef4b0fcc5e9a0ef4824b89250f8ec56e1a8318eb4c7a04",
      message: [
        "SendGrid: 2 events",
        "delivered for ada@example.com, 250 OK",
        "click for grace@example.com, https://shop.example.com/orders/1007",
      ],
    },
    spamreport: {
      event: "spamreport",
      deliveryId: "c3BhbXJlcG9ydC0xLWV4YW1wbGU",
      message: [
        "SendGrid: spamreport for the mail to ada@example.com",
        "Message id: 14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0",
      ],
    },
  });
});

describe("batches of SendGrid", () => {
  it("are skipped when they are empty or no list", () => {
    expect(readSample(sendgrid, { payload: [] })).toMatchObject({
      skip: "it holds no event",
      message: "SendGrid: no events",
    });
    expect(readSample(sendgrid, { payload: { event: "bounce" } }).skip).toBe("it holds no event");
  });

  it("have an id only when each event has one", () => {
    expect(readSample(sendgrid, { payload: [{ sg_event_id: "a" }, {}] }).deliveryId).toBeUndefined();
  });

  it("are named by their distinct events", () => {
    const payload = ["open", "click", "open", ""].map((event) => ({ event }));
    expect(readSample(sendgrid, { payload }).event).toBe("open+click");
  });

  it("list up to 20 events and count the others", () => {
    const payload = Array.from({ length: 23 }, () => ({ event: "open", email: "ada@example.com" }));
    const lines = readSample(sendgrid, { payload }).message.split("\n");
    expect(lines.slice(0, 2)).toEqual(["SendGrid: 23 events", "open for ada@example.com"]);
    expect(lines.slice(-1)).toEqual(["... and 3 more"]);
  });

  it("show a bounce among many mails that arrived", () => {
    const delivered = Array.from({ length: 30 }, () => ({ event: "delivered", email: "ada@example.com" }));
    const payload = [...delivered, { event: "bounce", email: "grace@example.com", reason: "550 no such user" }];
    expect(readSample(sendgrid, { payload }).message).toContain("bounce for grace@example.com, 550 no such user");
  });

  it("hold categories as a text or a list", () => {
    const messageOf = (category: unknown) => readSample(sendgrid, { payload: [{ event: "open", category }] }).message;
    expect(messageOf(["a", "b"])).toBe("SendGrid: open\nCategory: a, b");
    expect(messageOf("a")).toBe("SendGrid: open\nCategory: a");
  });
});
