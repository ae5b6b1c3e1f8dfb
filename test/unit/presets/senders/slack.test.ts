import { describe, expect, it } from "vitest";
import { slack } from "../../../../src/presets/senders/slack/slack.ts";
import { receivedCall, readSample, signSample } from "../../../../src/testing/preset-probe.ts";
import { answerHandshake, plainCall } from "../answer-handshake.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const FORM = "application/x-www-form-urlencoded";

const event = (inner: object, more: object = {}) =>
  readSample(slack, { payload: { type: "event_callback", event_id: "Ev1", event: inner, ...more } });
const interaction = (payload: object) =>
  readSample(slack, { format: "form", payload: { payload: JSON.stringify(payload) } });

describe("the preset slack", () => {
  it("knows a message in a shared channel again, whichever workspace the event names", () => {
    const context = { path: "slack", headers: {}, query: {}, now: new Date(0), settings: {} };
    const own = { type: "event_callback", authorizations: [{ team_id: "T1" }] };
    const message = { type: "message", channel: "C1", ts: "1.0" };
    const reaction = { type: "reaction_added", item: { channel: "C1", ts: "1.0" } };
    expect(slack.objects!.held({ ...context, payload: { ...own, team_id: "T2", event: message } })).toEqual(
      slack.objects!.approved({ ...context, payload: { ...own, team_id: "T1", event: reaction } }),
    );
  });

  it("skips the preview of a link, which comes as a change of the message, and no edit", () => {
    const message = { type: "message", user: "U0ADA", text: "See <https://example.com>", ts: "1.0" };
    const skipOf = (changed: object, before: object = message) =>
      event({ type: "message", subtype: "message_changed", message: changed, previous_message: before }).skip;
    expect(skipOf({ ...message, attachments: [{ from_url: "https://example.com" }] })).toBe(
      "Slack added the preview of a link, and no one edited the message",
    );
    const edited = { ...message, edited: { user: "U0ADA", ts: "2.0" } };
    expect(skipOf({ ...edited, attachments: [] }, edited)).toMatch(/preview/);
    for (const change of [{ ...edited, text: "See this" }, edited, { ...message, text: "" }]) {
      expect(skipOf(change)).toBeUndefined();
    }
    expect(skipOf(message, {})).toBeUndefined();
  });

  it("takes for a chat only direct messages and commands of a person", () => {
    const direct = {
      type: "message",
      channel_type: "im",
      user: "U0ADA",
      channel: "D0ADA",
      text: "Is &lt;it&gt; green?",
    };
    expect(event(direct).chat).toEqual({ from: "U0ADA", to: "D0ADA", text: "Is <it> green?" });
    expect(event({ ...direct, text: "x".repeat(5_000) }).chat?.text).toHaveLength(5_000);
    for (const changes of [
      { channel_type: "channel" },
      { bot_id: "B1" },
      { subtype: "message_changed" },
      { text: "" },
    ]) {
      expect(event({ ...direct, ...changes }).chat).toBeUndefined();
    }
    expect(readSample(slack, slack.samples["app_mention"]!).chat).toBeUndefined();
    expect(readSample(slack, slack.samples["block_actions"]!).chat).toBeUndefined();
    expect(readSample(slack, slack.samples["slash_command"]!).chat).toEqual({
      from: "U0ADA",
      to: "U0ADA",
      text: "/agent summarize the incident of this morning",
    });
  });

  it.each([
    ["app_mention", "app_mention", "Ev0MENTION", "U0ADA"],
    ["message", "message", "Ev0MESSAGE", "U0ADA"],
    ["reaction_added", "reaction_added", "Ev0REACTION", "U0GRACE"],
    ["slash_command", "slash_command", "13345224609.738474920.8088930838d88f008e0", "ada"],
    ["block_actions", "block_actions", "12466734323.1395872398.8088930838d88f008e1", "ada"],
  ])("knows event, id and sender of the sample %s", (sample, name, id, sender) => {
    const reading = readSample(slack, slack.samples[sample]!);
    expect(reading).toMatchObject({ event: name, deliveryId: id, sender: { name: sender, bot: false } });
    expect(reading.skip).toBeUndefined();
  });

  it("says who mentioned the app, where and how", () => {
    expect(readSample(slack, slack.samples["app_mention"]!).message).toBe(
      "Slack mention by U0ADA in C0BUILDS\n@U0AGENT is the nightly build green & deployed?\nIds: team T0EXAMPLE, channel C0BUILDS, ts 1795176000.000100, user U0ADA",
    );
  });

  it("names the thread and the files of a message", () => {
    expect(readSample(slack, slack.samples["message"]!).message).toBe(
      [
        "Slack message by U0ADA in D0ADA",
        "In the thread: 1795175000.000100",
        "Please look at the invoice.",
        "File: invoice.pdf https://example.slack.com/files/U0ADA/F0INVOICE/invoice.pdf",
        "Ids: team T0EXAMPLE, channel D0ADA, ts 1795176060.000200, thread_ts 1795175000.000100, user U0ADA",
      ].join("\n"),
    );
  });

  it("renders a slash command without its token and answer URL", () => {
    expect(readSample(slack, slack.samples["slash_command"]!).message).toBe(
      "Slack command /agent by ada in builds\nsummarize the incident of this morning\nIds: team T0EXAMPLE, channel C0BUILDS, user U0ADA",
    );
  });

  it("unwraps interactivity out of its form field", () => {
    expect(readSample(slack, slack.samples["block_actions"]!).message).toBe(
      "Slack action by ada in builds\nApprove: build-118\nOn the message: Deploy build 118 to production?\nIds: team T0EXAMPLE, channel C0BUILDS, ts 1795176000.000100, user U0ADA\nhttps://example.slack.com/archives/C0BUILDS/p1795176000000100",
    );
  });

  it("answers commands and interactivity with an empty 200, events as usual", () => {
    expect(readSample(slack, slack.samples["slash_command"]!).answer).toEqual({ status: 200 });
    expect(readSample(slack, slack.samples["block_actions"]!).answer).toEqual({ status: 200 });
    expect(readSample(slack, slack.samples["app_mention"]!).answer).toBeUndefined();
  });

  it("answers a menu that asks for options with none, and skips it", () => {
    const reading = interaction({ type: "block_suggestion", value: "ab", user: { id: "U1" } });
    expect(reading.skip).toBe("Slack asks for the options of a menu on every key");
    expect(reading.answer).toEqual({ status: 200, contentType: "application/json", body: '{"options":[]}' });
  });

  it.each([
    ["a bot_id", event({ type: "message", bot_id: "B1", text: "x" })],
    ["the subtype bot_message", event({ type: "message", subtype: "bot_message", username: "ci", text: "x" })],
    ["an edited message of a bot", event({ type: "message", subtype: "message_changed", message: { bot_id: "B1" } })],
    ["a bot that joins", event({ type: "team_join", user: { id: "U1", name: "ci", is_bot: true } })],
    ["Slackbot", event({ type: "message", user: "USLACKBOT", text: "x" })],
    [
      "the app's own user",
      event({ type: "reaction_added", user: "U9" }, { authorizations: [{ user_id: "U9", is_bot: true }] }),
    ],
  ])("takes %s for a bot", (_, reading) => {
    expect(reading.sender).toMatchObject({ bot: true });
  });

  it("takes an app that acts for a person for the person", () => {
    const reading = event({ type: "message", user: "U9" }, { authorizations: [{ user_id: "U9", is_bot: false }] });
    expect(reading.sender).toEqual({ name: "U9", id: "U9", bot: false, role: "member" });
  });

  it("names the subtype of a message and its outcome", () => {
    const edited = event({
      type: "message",
      subtype: "message_changed",
      channel: "C1",
      message: { user: "U1", text: "b" },
    });
    expect(edited).toMatchObject({
      event: "message.message_changed",
      message: "Slack message edited by U1 in C1\nb\nIds: channel C1, user U1",
    });
    const deleted = event({ type: "message", subtype: "message_deleted", previous_message: { user: "U1", text: "a" } });
    expect(deleted.message).toBe("Slack message deleted by U1\na\nIds: user U1");
    expect(event({ type: "message", subtype: "file_share", user: "U1", text: "c" }).message).toBe(
      "Slack message by U1\nc\nIds: user U1",
    );
  });

  it("renders reactions that come and go", () => {
    expect(
      event({ type: "reaction_removed", user: "U1", reaction: "eyes", item: { channel: "C1", ts: "1.2" } }).message,
    ).toBe("Slack reaction removed by U1 in C1\nReaction: eyes\nIds: channel C1, ts 1.2, user U1");
  });

  it("lists what was entered into a form", () => {
    const reading = interaction({
      type: "view_submission",
      trigger_id: "1.2",
      user: { id: "U1", username: "ada" },
      view: {
        callback_id: "report",
        title: { text: "Report" },
        state: {
          values: {
            a: { summary: { type: "plain_text_input", value: "It is broken." } },
            b: { when: { type: "datepicker", selected_date: "2026-11-20" } },
            c: {
              who: { type: "multi_static_select", selected_options: [{ text: { text: "Us" } }, { value: "them" }] },
            },
            e: { people: { type: "multi_users_select", selected_users: ["U2", "U3"] } },
            f: { start: { type: "datetimepicker", selected_date_time: 1_795_176_000 } },
            g: { log: { type: "file_input", files: [{ id: "F1", name: "night.log" }] } },
            h: { more: { type: "rich_text_input", rich_text_value: { elements: [{ type: "text", text: "Hot" }] } } },
            d: { nothing: { type: "plain_text_input", value: null } },
          },
        },
      },
    });
    expect(reading.message).toBe(
      'Slack form Report submitted by ada\nForm: report\nsummary: It is broken.\nwhen: 2026-11-20\nwho: Us, them\npeople: U2, U3\nstart: 2026-11-20 12:00 UTC\nlog: night.log\nmore: [{"type":"text","text":"Hot"}]\nIds: user U1',
    );
  });

  it("renders a closed form and shortcuts", () => {
    expect(interaction({ type: "view_closed", user: { id: "U1" }, view: { callback_id: "report" } }).message).toBe(
      "Slack form closed by U1\nForm: report\nIds: user U1",
    );
    expect(
      interaction({
        type: "message_action",
        callback_id: "file_bug",
        user: { name: "ada" },
        channel: { name: "ops" },
        message: { text: "It broke &gt;2 times" },
      }).message,
    ).toBe("Slack shortcut file_bug by ada in ops\nOn the message: It broke >2 times");
  });

  it("gives events it does not know a generic message", () => {
    expect(event({ type: "channel_created", channel: { id: "C2", name: "fun" } }).message).toBe(
      'Slack: channel_created\ntype: channel_created\nchannel: {"id":"C2","name":"fun"}',
    );
  });

  it("keeps the token and answer URLs of interactions it does not know to itself", () => {
    const reading = interaction({
      type: "new_thing",
      token: "legacy",
      response_url: "https://hooks.example.com/1",
      response_urls: [{ response_url: "https://hooks.example.com/2" }],
      value: "v",
    });
    expect(reading.message).toBe("Slack: new_thing\ntype: new_thing\nvalue: v");
    expect(reading.answer).toEqual({ status: 200 });
  });

  it("leaves a form field that is no JSON as it is", () => {
    expect(readSample(slack, { format: "form", payload: { payload: "{broken" } }).message).toContain("{broken");
  });

  it("skips checks of the URL that get past the handshakes", () => {
    expect(readSample(slack, { payload: { type: "url_verification" } }).skip).toBe("Slack checks the URL");
    expect(readSample(slack, { payload: { ssl_check: 1, command: "/x" } }).skip).toBe("Slack checks the URL");
  });
});

describe("the handshakes of slack", () => {
  const challenge = { payload: { type: "url_verification", token: "legacy", challenge: "3eZbrw1aB" } };

  it("echo the challenge of a signed url_verification", async () => {
    const call = receivedCall(signSample(slack, challenge, { key: SECRET, secrets: [SECRET] }));
    const answered = await answerHandshake(slack, call, { secrets: [SECRET] });
    expect(answered).toMatchObject({ name: "url_verification", answer: { status: 200, payload: "3eZbrw1aB" } });
  });

  it("do not echo one that is not signed", async () => {
    const call = plainCall("POST", "/hooks/slack", JSON.stringify(challenge.payload), "application/json");
    expect(await answerHandshake(slack, call, { secrets: [SECRET] })).toBeUndefined();
  });

  it("answer an unsigned ssl_check", async () => {
    const answered = await answerHandshake(slack, plainCall("POST", "/hooks/slack", "ssl_check=1&token=legacy", FORM), {
      secrets: [SECRET],
    });
    expect(answered).toMatchObject({ name: "ssl_check", answer: { status: 200, payload: "" } });
  });

  it("take no command along with an unsigned ssl_check", async () => {
    const call = plainCall("POST", "/hooks/slack", "ssl_check=1&command=%2Fagent&text=hello", FORM);
    expect(await answerHandshake(slack, call, { secrets: [SECRET] })).toBeUndefined();
  });
});
