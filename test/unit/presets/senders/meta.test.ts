import { describe, expect, it } from "vitest";
import { meta } from "../../../../src/presets/senders/meta/meta.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { answerHandshake, plainCall } from "../answer-handshake.ts";

const OPTIONS = { secrets: ["0123456789abcdef0123456789abcdef"], settings: { verifyToken: "invented-verify-token" } };
const sample = (name: string) => readSample(meta, meta.samples[name]!);
const whatsApp = (value: object, field = "messages") =>
  readSample(meta, {
    payload: { object: "whatsapp_business_account", entry: [{ id: "1", changes: [{ field, value }] }] },
  });
const page = (...messaging: object[]) =>
  readSample(meta, { payload: { object: "page", entry: [{ id: "1", messaging }] } });
const message = (content: object) => whatsApp({ messages: [{ from: "1555", id: "w1", ...content }] }).message;

describe("the preset meta", () => {
  it.each([
    ["whatsapp.message", "wamid.EXAMPLE0000000001", { name: "Ada Lovelace", id: "15550100002", bot: false }],
    ["messenger.message", "m_example0000000001", { name: "400000000000001", bot: false }],
    ["messenger.postback", "m_example0000000002", { name: "400000000000001", bot: false }],
    ["instagram.message", "aWdfexample0000000001", { name: "400000000000001", bot: false }],
    ["instagram.comments", "500000000000001", { name: "grace.example", id: "400000000000002", bot: false }],
  ])("knows event, id and sender of the sample %s, and answers 200", (name, deliveryId, sender) => {
    expect(sample(name)).toMatchObject({ event: name, deliveryId, sender, skip: undefined, answer: { status: 200 } });
  });

  it("takes bodies of 3 MB", () => {
    expect(meta.mapping({})).toMatchObject({ maxBodyBytes: 3_145_728 });
  });

  it("says who wrote what to which number", () => {
    expect(sample("whatsapp.message").message).toBe(
      "WhatsApp message from Ada Lovelace (15550100002) to 15550100001\nIs my order on its way?\nIds: message wamid.EXAMPLE0000000001, phone number 200000000000001",
    );
  });

  it("shows what is attached, and what a button holds", () => {
    expect(sample("messenger.message").message).toBe(
      [
        "Messenger message from 400000000000001 to 300000000000001",
        "Are you open on Sunday?",
        "Attached: image https://cdn.example.com/door.jpg",
        "Ids: message m_example0000000001",
      ].join("\n"),
    );
    expect(sample("messenger.postback").message).toBe(
      "Messenger button pressed from 400000000000001 to 300000000000001\nGet started GET_STARTED",
    );
  });

  it("renders a comment", () => {
    expect(sample("instagram.comments").message).toBe(
      "Instagram comments from grace.example (400000000000002)\nWhen is it back in stock?",
    );
  });

  it.each([
    [
      { type: "image", image: { id: "m1", caption: "Look" } },
      "WhatsApp message (image) from 1555\nLook\nMedia id: m1\nIds: message w1",
    ],
    [{ type: "audio", audio: { id: "m2" } }, "WhatsApp message (audio) from 1555\nMedia id: m2\nIds: message w1"],
    [
      { type: "interactive", interactive: { list_reply: { id: "a", title: "Tuesday" } } },
      "WhatsApp message (interactive) from 1555\nTuesday\nChoice: a\nIds: message w1",
    ],
    [{ type: "reaction", reaction: { emoji: "👍" } }, "WhatsApp message (reaction) from 1555\n👍\nIds: message w1"],
    [
      { type: "location", location: { latitude: 52.5, longitude: 13.4 } },
      "WhatsApp message (location) from 1555\n52.5, 13.4\nIds: message w1",
    ],
    [
      { type: "unsupported", errors: [{ title: "Unsupported" }] },
      "WhatsApp message (unsupported) from 1555\nUnsupported\nIds: message w1",
    ],
  ])("renders the WhatsApp message %j", (content, text) => {
    expect(message(content)).toBe(text);
  });

  it("skips receipts", () => {
    expect(sample("whatsapp.status")).toMatchObject({ event: "whatsapp.status", skip: "nothing but receipts" });
    expect(page({ read: { watermark: 1 } })).toMatchObject({ event: "messenger.read", skip: "nothing but receipts" });
    expect(page({ delivery: { mids: ["m"] } })).toMatchObject({
      event: "messenger.delivery",
      skip: "nothing but receipts",
    });
  });

  it("does not skip a message that could not be sent", () => {
    const status = { id: "w9", status: "failed", recipient_id: "1555", errors: [{ code: 131047, title: "Too late" }] };
    expect(whatsApp({ statuses: [status] })).toMatchObject({
      event: "whatsapp.status",
      deliveryId: "w9:failed",
      skip: undefined,
      message: "WhatsApp message failed to 1555\nToo late",
    });
  });

  it("skips echoes of the account's own messages, and takes their sender for a bot", () => {
    const echo = { sender: { id: "1" }, message: { mid: "m", text: "Hello", is_echo: true } };
    expect(page(echo)).toMatchObject({
      event: "messenger.echo",
      sender: { name: "1", bot: true },
      skip: "an echo of the account's own messages",
      message: "Messenger message of the account from 1\nHello\nIds: message m",
    });
    const echoes = whatsApp({ message_echoes: [{ from: "1", to: "2", id: "w", type: "text", text: { body: "Hi" } }] });
    expect(echoes).toMatchObject({ event: "whatsapp.echo", skip: "an echo of the account's own messages" });
    expect(page({ ...echo, message: { is_echo: "true" } }).skip).toBeUndefined();
  });

  it("lists everything of a batch, named by what matters of it", () => {
    const batch = page(
      { sender: { id: "7" }, read: { watermark: 1 } },
      { sender: { id: "7" }, message: { mid: "m1", text: "One" } },
      { sender: { id: "7" }, reaction: { action: "react", emoji: "❤️" } },
    );
    expect(batch).toMatchObject({
      event: "messenger.message+messenger.reaction",
      deliveryId: undefined,
      skip: undefined,
      sender: { name: "7" },
    });
    expect(batch.message).toBe(
      "Messenger: 3 updates\n- message from 7 (Ids: message m1): One\n- reaction react from 7: ❤️\n- read receipt from 7",
    );
  });

  it("has no sender for a batch of several people", () => {
    const of = (id: string) => ({ sender: { id }, message: { mid: id, text: "Hi" } });
    expect(page(of("7"), of("8")).sender).toBeUndefined();
  });

  it("shows a message among many receipts", () => {
    const receipts = Array.from({ length: 30 }, () => ({ sender: { id: "7" }, read: { watermark: 1 } }));
    const batch = page(...receipts, { sender: { id: "7" }, message: { mid: "m1", text: "Help" } });
    expect(batch.message).toContain("- message from 7 (Ids: message m1): Help");
  });

  it("counts what does not fit into the message of a batch", () => {
    const batch = page(
      ...Array.from({ length: 1_000 }, (_, at) => ({ sender: { id: "7" }, message: { mid: `m${at}`, text: "Hi" } })),
    );
    expect(batch.message.split("\n")).toHaveLength(22);
    expect(batch.message).toContain("... and 980 more");
  });

  it("reads messages in standby, and those that were deleted", () => {
    const standby = [{ sender: { id: "7" }, message: { mid: "m", is_deleted: true } }];
    expect(readSample(meta, { payload: { object: "instagram", entry: [{ standby }] } }).message).toBe(
      "Instagram message deleted from 7\nIds: message m",
    );
  });

  const change = (object: string, field: string, value: object) =>
    readSample(meta, { payload: { object, entry: [{ id: "1", changes: [{ field, value }] }] } });

  it("tells events about one thing from each other", () => {
    const feed = (value: object) => change("page", "feed", { comment_id: "9_8", from: { id: "7" }, ...value });
    for (const value of [{ verb: "add" }, { verb: "edited" }, { item: "reaction", verb: "add" }]) {
      expect(feed(value).deliveryId).toBeUndefined();
    }
    expect(change("page", "live_videos", { id: "44", status: "live" }).deliveryId).toBeUndefined();
    expect(change("instagram", "comments", { id: "44", text: "Hi" }).deliveryId).toBe("44");
    const message = { mid: "m1", text: "Hi" };
    expect(page({ sender: { id: "7" }, message }).deliveryId).toBe("m1");
    expect(page({ sender: { id: "7" }, message: { mid: "m1", is_deleted: true } }).deliveryId).toBe("m1:deleted");
    expect(page({ sender: { id: "7" }, message: { is_deleted: true } }).deliveryId).toBeUndefined();
  });

  it("knows the comments and posts of the account itself", () => {
    const of = (from: object) => change("instagram", "comments", { id: "5", text: "Thanks!", from }).sender;
    expect(of({ id: "1", username: "shop" })).toEqual({ name: "shop", id: "1", bot: true, own: true });
    expect(of({ id: "8", username: "shop", self_ig_scoped_id: "9" })).toMatchObject({ own: true });
    expect(of({ id: "8", username: "ada" })).toEqual({ name: "ada", id: "8", bot: false });
  });

  it("shows the answers of a flow, and what an order holds", () => {
    const nfm_reply = { name: "flow", body: "Sent", response_json: '{"date":"2026-12-01"}' };
    expect(message({ type: "interactive", interactive: { type: "nfm_reply", nfm_reply } })).toBe(
      'WhatsApp message (interactive) from 1555\nSent\nAnswers: {"date":"2026-12-01"}\nIds: message w1',
    );
    const order = { catalog_id: "c", product_items: [{ product_retailer_id: "p1", quantity: 2 }] };
    expect(message({ type: "order", order })).toBe(
      'WhatsApp message (order) from 1555\n{"catalog_id":"c","product_items":[{"product_retailer_id":"p1","quantity":2}]}\nIds: message w1',
    );
  });

  it("gives changes and objects it does not know a generic message", () => {
    expect(
      whatsApp({ event: "APPROVED", message_template_name: "order" }, "message_template_status_update"),
    ).toMatchObject({
      event: "whatsapp.message_template_status_update",
      message: "WhatsApp message_template_status_update\nevent: APPROVED\nmessage_template_name: order",
    });
    expect(page({ sender: { id: "7" }, optin: { ref: "x" } })).toMatchObject({
      event: "messenger.messaging",
      message: 'Messenger messaging event from 7\nsender: {"id":"7"}\noptin: {"ref":"x"}',
    });
    expect(readSample(meta, { payload: { object: "permissions", entry: [{ uid: "1" }] } })).toMatchObject({
      event: "permissions",
      message: 'Meta permissions: permissions\n{"uid":"1"}',
    });
  });

  it("names the button that was pressed on WhatsApp, and the message that it answers", () => {
    // From developers.facebook.com/docs/whatsapp/cloud-api/webhooks/payload-examples.
    const message = {
      context: { from: "15550783881", id: "wamid.gBGGFlA5FpafAgkOuJbRq54qwbM=" },
      from: "16505551234",
      id: "wamid.HBgLMTY1MDM4Nzk0MzkVAgASGBQzQTRBNjU5OUFFRTAzODEwMTQ0RgA=",
      timestamp: "1603059201",
      type: "interactive",
      interactive: { type: "button_reply", button_reply: { id: "cancel-button", title: "Yes" } },
    };
    const value = {
      metadata: { display_phone_number: "15550783881", phone_number_id: "106540352242922" },
      messages: [message],
    };
    const payload = { object: "whatsapp_business_account", entry: [{ changes: [{ field: "messages", value }] }] };
    expect(readSample(meta, { payload }).message.split("\n").slice(1)).toEqual([
      "Yes",
      "Choice: cancel-button",
      "Ids: message wamid.HBgLMTY1MDM4Nzk0MzkVAgASGBQzQTRBNjU5OUFFRTAzODEwMTQ0RgA=, in reply to wamid.gBGGFlA5FpafAgkOuJbRq54qwbM=, phone number 106540352242922",
    ]);
  });
});

describe("the handshake of meta", () => {
  const target = (token: string, more = "") =>
    `/hooks/meta?hub.mode=subscribe&hub.verify_token=${token}&hub.challenge=1158201444${more}`;

  it("echoes the challenge of a GET that knows the verify token", async () => {
    const answered = await answerHandshake(meta, plainCall("GET", target("invented-verify-token")), OPTIONS);
    expect(answered).toMatchObject({ name: "hub.challenge", answer: { status: 200, payload: "1158201444" } });
    expect(answered!.answer.headers["content-type"]).toMatch(/^text\/plain/);
  });

  it("echoes nothing to who does not know it", async () => {
    expect(await answerHandshake(meta, plainCall("GET", target("guess")), OPTIONS)).toBeUndefined();
    expect(await answerHandshake(meta, plainCall("GET", target("")), { ...OPTIONS, settings: {} })).toBeUndefined();
  });

  it("takes no other parameter", async () => {
    const call = plainCall("GET", target("invented-verify-token", "&x=1"));
    expect(await answerHandshake(meta, call, OPTIONS)).toBeUndefined();
  });
});
