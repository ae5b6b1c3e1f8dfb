import { describe, expect, it } from "vitest";
import { telegram } from "../../../../src/presets/senders/telegram.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";

const sample = (name: string) => readSample(telegram, telegram.samples[name]!);
const update = (content: object) => readSample(telegram, { payload: { update_id: 1, ...content } });
const message = (content: object) => update({ message: { from: { id: 1, first_name: "Ada" }, ...content } }).message;

describe("the preset telegram", () => {
  it("takes for a chat only what the person wrote in private", () => {
    expect(sample("message").chat).toEqual({ from: "5001", to: "5001", text: "/status of the nightly build" });
    const mine = { from: { id: 7 }, chat: { id: 7, type: "private" }, text: "hi" };
    const chat = (kind: string, changes: object): unknown => update({ [kind]: { ...mine, ...changes } }).chat;
    expect(chat("message", {})).toEqual({ from: "7", to: "7", text: "hi" });
    for (const changes of [
      { chat: { id: 7, type: "group" } },
      { forward_origin: { type: "user" } },
      { forward_date: 1 },
      { via_bot: { id: 1 } },
      { sender_chat: { id: 1 } },
      { text: undefined },
      { text: " " },
      { from: undefined },
      { text: "x".repeat(70_000) },
    ]) {
      expect(chat("message", changes)).toBeUndefined();
    }
    expect(chat("edited_message", {})).toBeUndefined();
    expect(chat("business_message", {})).toBeUndefined();
  });

  it.each([
    ["message", "700000001", { name: "ada_l", id: "5001", bot: false }],
    ["edited_message", "700000002", { name: "Grace", id: "5002", bot: false }],
    ["callback_query", "700000003", { name: "ada_l", id: "5001", bot: false }],
    ["channel_post", "700000004", { name: "example_releases", id: "-1008000", bot: false }],
  ])("knows event, id and sender of the sample %s", (name, id, sender) => {
    expect(sample(name)).toMatchObject({ event: name, deliveryId: id, sender });
    expect(sample(name)).toMatchObject({ skip: undefined, answer: undefined });
  });

  it("says who wrote what in a private chat", () => {
    expect(sample("message").message).toBe(
      "Telegram message from Ada Lovelace\n/status of the nightly build\nIds: chat 5001, message 41, user 5001",
    );
  });

  it("names the group, what is attached and the address of a public message", () => {
    expect(sample("edited_message").message).toBe(
      [
        "Telegram message edited from Grace in Operations",
        "The log of last night",
        "Document: night.log",
        "Ids: chat -1009000, message 42, user 5002",
        "https://t.me/example_ops/42",
      ].join("\n"),
    );
  });

  it("names a channel once", () => {
    expect(sample("channel_post").message).toBe(
      "Telegram channel post in Release notes\nVersion 2.4 is out.\nIds: chat -1008000, message 7, user -1008000\nhttps://t.me/example_releases/7",
    );
  });

  it("says which button was pressed on which message", () => {
    expect(sample("callback_query").message).toBe(
      "Telegram button pressed by Ada in Operations\ndeploy:118:approve\nOn the message: Deploy build 118?\nIds: query 4382bfdwdsb323b2d9, chat -1009000, message 43, user 5001",
    );
  });

  it.each([
    [{ photo: [{ file_id: "1" }], caption: "Look" }, "Look\nPhoto"],
    [{ sticker: { emoji: "👍" } }, "Sticker: 👍"],
    [{ voice: {} }, "Voice message"],
    [{ poll: { question: "Tea?" } }, "Poll: Tea?"],
    [{ new_chat_members: [{ first_name: "Bob" }, { username: "eve" }] }, "Joined: Bob, eve"],
    [{ text: "Yes", reply_to_message: { text: "Shall we?" } }, "Yes\nIn reply to: Shall we?"],
  ])("renders the content %j", (content, text) => {
    expect(message(content)).toBe(`Telegram message from Ada\n${text}\nIds: user 1`);
  });

  it("links nothing whose address is not plain", () => {
    const chat = { username: "evil/../x", type: "channel", title: "T" };
    expect(message({ chat, message_id: 1, text: "x" })).toBe(
      "Telegram message from Ada in T\nx\nIds: message 1, user 1",
    );
  });

  it("knows bots", () => {
    expect(update({ message: { from: { id: 2, is_bot: true, username: "helper_bot" } } }).sender).toEqual({
      name: "helper_bot",
      id: "2",
      bot: true,
    });
  });

  it("takes the chat for the author when someone writes in its name, and not Telegram's own account", () => {
    const group = { id: -1009000, title: "Operations", type: "supergroup" };
    const from = { id: 1087968824, is_bot: true, first_name: "Group", username: "GroupAnonymousBot" };
    const { sender, message: text } = update({ message: { from, sender_chat: group, chat: group, text: "Deploy it" } });
    expect(sender).toEqual({ name: "Operations", id: "-1009000", bot: false });
    expect(text).toBe("Telegram message in Operations\nDeploy it\nIds: chat -1009000, user -1009000");
    const reaction = update({ message_reaction: { chat: group, message_id: 1, actor_chat: group } });
    expect(reaction.sender).toEqual({ name: "Operations", id: "-1009000", bot: false });
  });

  it("counts the author of a quoted message who writes in the name of a chat, though Telegram says that it is a bot", () => {
    const from = { id: 136817688, is_bot: true, username: "Channel_Bot" };
    const quoted = { from, sender_chat: { id: -1008000, title: "Anyone" }, text: "Send me the keys" };
    const content = { from: { id: 1 }, text: "Do it", reply_to_message: quoted };
    const context = { path: "telegram", headers: {}, query: {}, now: new Date(0), settings: {} };
    expect(telegram.authorsOf({ ...context, payload: { update_id: 1, message: content } })).toEqual([{}]);
  });

  it("counts no author of the beginning of a topic, to which every message in it is a reply", () => {
    const created = { message_id: 7, from: { id: 2 }, forum_topic_created: { name: "Deployments" } };
    const content = { from: { id: 1 }, text: "Do it", is_topic_message: true, reply_to_message: created };
    const context = { path: "telegram", headers: {}, query: {}, now: new Date(0), settings: {} };
    expect(telegram.authorsOf({ ...context, payload: { update_id: 1, message: content } })).toEqual([]);
  });

  it("knows what the agent itself sent for a business account", () => {
    const from = { id: 7, is_bot: false, first_name: "Ada" };
    const sender_business_bot = { id: 9001, is_bot: true, username: "example_agent_bot" };
    const content = { from, chat: { id: 8, type: "private" }, text: "We are open.", business_connection_id: "b1" };
    expect(update({ business_message: { ...content, sender_business_bot } }).sender).toMatchObject({
      bot: true,
      own: true,
    });
    expect(update({ business_message: content }).sender).toEqual({ name: "Ada", id: "7", bot: false });
  });

  it("renders an inline query", () => {
    expect(update({ inline_query: { from: { first_name: "Ada" }, query: "tea" } }).message).toBe(
      "Telegram inline query by Ada\ntea",
    );
  });

  it("gives updates it does not know a generic message", () => {
    expect(update({ poll_answer: { poll_id: "9", user: { id: 3, username: "bob" } } })).toMatchObject({
      event: "poll_answer",
      sender: { name: "bob" },
      message: 'Telegram: poll_answer by bob\npoll_id: 9\nuser: {"id":3,"username":"bob"}',
    });
  });
});
