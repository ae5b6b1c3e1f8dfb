import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { x } from "../../../../src/presets/senders/x.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { answerHandshake, plainCall } from "../answer-handshake.ts";

const SECRET = "invented-consumer-secret";
const sample = (name: string) => readSample(x, x.samples[name]!);
const read = (payload: unknown) => readSample(x, { payload });

describe("the preset x", () => {
  it.each([
    ["tweet_create", "tweet_create:1900000000000000001", "ada_example"],
    ["direct_message", "direct_message:1900000000000000002", "grace_example"],
    ["follow", "follow:2000000002:1795176060123", "ada_example"],
    ["filtered_stream", "filtered_stream:1900000000000000004", "ada_example"],
  ])("knows event, id and sender of the sample %s, and answers 200", (name, deliveryId, sender) => {
    expect(sample(name)).toMatchObject({
      event: name,
      deliveryId,
      sender: { name: sender, bot: false },
      skip: undefined,
      answer: { status: 200 },
    });
  });

  it("says who posted what, with its address", () => {
    expect(sample("tweet_create").message).toBe(
      [
        "X post by Ada Lovelace (@ada_example)",
        "@example_agent when is 2.4 out? <3",
        "https://x.com/ada_example/status/1900000000000000001",
      ].join("\n"),
    );
  });

  it("names the sender of a direct message by the list of users", () => {
    expect(sample("direct_message").message).toBe("X direct message by @grace_example\nMay I ask you something?");
  });

  it("names both sides of a follow", () => {
    expect(sample("follow").message).toBe("X follow by Ada Lovelace (@ada_example) of @example_agent");
  });

  it("names the rule of a filtered stream", () => {
    expect(sample("filtered_stream").message).toBe(
      [
        "X post of the filtered stream by @ada_example",
        "Trying the new release.",
        "https://x.com/ada_example/status/1900000000000000004",
        "Rule: our product",
      ].join("\n"),
    );
  });

  it("takes what the subscribed account does itself for the agent's own", () => {
    const own = {
      for_user_id: "1",
      tweet_create_events: [{ id_str: "2", text: "x", user: { id_str: "1", screen_name: "me" } }],
    };
    expect(read(own).sender).toEqual({ name: "me", id: "1", bot: true, own: true });
  });

  it("reads the events of the X Activity API", () => {
    // The form of docs.x.com/x-api/activity.
    const changed = read({
      data: {
        filter: { user_id: "2244994945" },
        event_type: "profile.update.bio",
        tag: "bio",
        payload: { before: "Mars & Cars", after: "Mars, Cars & AI" },
      },
    });
    expect(changed).toMatchObject({ event: "profile.update.bio", skip: undefined, deliveryId: undefined });
    expect(changed.message).toBe(
      "X: profile.update.bio\nbefore: Mars & Cars\nafter: Mars, Cars & AI\nRule: bio\nIds: account 2244994945",
    );
    const post = read({
      data: {
        filter: { user_id: "7" },
        event_type: "post.create",
        payload: { id: "19", text: "Hello", author_id: "7" },
        includes: { users: [{ id: "7", username: "ada_example" }] },
      },
    });
    expect(post).toMatchObject({ event: "post.create", deliveryId: "post.create:19", sender: { id: "7", bot: false } });
    expect(post.message).toBe("X post by @ada_example\nHello\nhttps://x.com/ada_example/status/19");
    const sent = { filter: { user_id: "7" }, event_type: "chat.sent", payload: { sender_id: "7" } };
    expect(read({ data: sent }).sender).toMatchObject({ own: true });
  });

  it("reads direct messages of the X Activity API, and takes what the account sends for the agent's own", () => {
    const direct = (event: string, from: string, to: string) => {
      const message = { target: { recipient_id: to }, sender_id: from, message_data: { text: "hello!" } };
      return {
        data: {
          event_uuid: "-6850472171600526495",
          filter: { user_id: "1" },
          event_type: event,
          payload: {
            direct_message_events: [{ type: "message_create", id: "20", message_create: message }],
            users: { 1: { data: { id: "1", username: "me" } }, 2: { data: { id: "2", username: "ada_example" } } },
          },
        },
      };
    };
    expect(read(direct("dm.received", "2", "1"))).toMatchObject({
      event: "dm.received",
      deliveryId: "dm.received:20",
      sender: { name: "ada_example", id: "2", bot: false },
      message: "X direct message by @ada_example\nhello!",
    });
    expect(read(direct("dm.sent", "1", "2")).sender).toEqual({ name: "me", id: "1", bot: true, own: true });
  });

  it("skips typing, read receipts and requests without an event", () => {
    expect(sample("direct_message_indicate_typing").skip).toBe("someone is typing");
    expect(read({ direct_message_mark_read_events: [{ sender_id: "1" }] }).skip).toBe("a read receipt");
    expect(read({ data: { event_type: "dm.indicate_typing", payload: {} } }).skip).toBe("someone is typing");
    expect(read({ data: { event_type: "dm.read", payload: {} } }).skip).toBe("a read receipt");
    expect(read({}).skip).toBe("there is no event in it");
    expect(read(["tweet_create_events"]).skip).toBe("there is no event in it");
  });

  it("lists several events, with a sender only if it is one and no id", () => {
    const post = (id: string, user: string) => ({
      id_str: id,
      text: `post ${id}`,
      user: { id_str: user, screen_name: user },
    });
    expect(read({ tweet_create_events: [post("1", "a"), post("2", "a")] })).toMatchObject({
      deliveryId: undefined,
      sender: { name: "a" },
      message: "X post by @a\npost 1\nhttps://x.com/a/status/1\nX post by @a\npost 2\nhttps://x.com/a/status/2",
    });
    expect(read({ tweet_create_events: [post("1", "a"), post("2", "b")] }).sender).toBeUndefined();
  });

  it("links nothing whose address is not plain", () => {
    const event = { id_str: "1/../2", text: "t", user: { screen_name: "a" } };
    expect(read({ tweet_create_events: [event] }).message).toBe("X post by @a\nt");
  });

  it("gives events it does not know a generic message", () => {
    expect(read({ block_events: [{ type: "block", source: { screen_name: "a" } }] })).toMatchObject({
      event: "block",
      message: 'X: block by a\ntype: block\nsource: {"screen_name":"a"}',
    });
    expect(read({ user_event: { revoke: { source: { user_id: "3" } } } })).toMatchObject({
      event: "revoke",
      message: 'X: revoke\nuser_event: {"revoke":{"source":{"user_id":"3"}}}',
    });
    expect(read({ constructor_events: [{ id: "1" }] }).message).toBe("X: constructor\nid: 1");
    expect(read({ _events: [{ text: "t" }] })).toMatchObject({ event: undefined, deliveryId: undefined });
  });
});

describe("the handshake of x", () => {
  const ask = (query: string) => answerHandshake(x, plainCall("GET", `/hooks/x?${query}`), { secrets: [SECRET] });

  it("answers a CRC with the HMAC of its token", async () => {
    const answered = await ask("crc_token=MTc5NTE3NjAwMA%3D%3D&nonce=abc");
    expect(answered).toMatchObject({ name: "CRC", answer: { status: 200 } });
    const expected = createHmac("sha256", SECRET).update("MTc5NTE3NjAwMA==").digest("base64");
    expect(JSON.parse(answered!.answer.payload)).toEqual({ response_token: `sha256=${expected}` });
  });

  it.each(['{"tweet_create_events":[]}', "[]", "a=b&c=d", " ", '{"data":{"id":"1"}}'])(
    "signs no body of an event on request: %s",
    async (token) => {
      expect(await ask(`crc_token=${encodeURIComponent(token)}`)).toBeUndefined();
    },
  );

  it("takes no other parameter", async () => {
    expect(await ask("crc_token=abc&x=1")).toBeUndefined();
  });
});
