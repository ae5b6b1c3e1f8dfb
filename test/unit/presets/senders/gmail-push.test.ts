import { describe, expect, it } from "vitest";
import { gmailPush } from "../../../../src/presets/senders/google/gmail-push.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

describe("the preset gmail-push", () => {
  itReadsSamples(gmailPush, {
    new_mail: {
      event: "mailbox.changed",
      deliveryId: "projects/example-project/subscriptions/gmail-push/13254678901234571",
      message: [
        "Gmail: something changed in the mailbox of ada@example.com",
        "History id: 9876543210",
        "What changed is in the Gmail API: users.history.list from the history id seen before this one.",
      ],
    },
    history_id_as_text: {
      event: "mailbox.changed",
      deliveryId: "projects/example-project/subscriptions/gmail-push/13254678901234572",
      message: [
        "Gmail: something changed in the mailbox of grace@example.com",
        "History id: 9876543299",
        "What changed is in the Gmail API: users.history.list from the history id seen before this one.",
      ],
    },
  });
});

describe("notifications of Gmail", () => {
  it.each<[string, unknown]>([
    ["no data", {}],
    ["data of another kind", { data: Buffer.from("hello").toString("base64") }],
    ["no history id", { data: Buffer.from('{"emailAddress":"ada@example.com"}').toString("base64") }],
  ])("are skipped with %s", (_, message) => {
    expect(readSample(gmailPush, { payload: { message } })).toMatchObject({
      event: undefined,
      skip: "it holds no history id, so nothing can be read from it",
    });
  });

  it("are mails to the boundary", () => {
    expect(gmailPush.mapping({})).toEqual({ name: "Gmail", contentSource: "Email" });
  });
});
