import { describe, expect, it } from "vitest";
import { discordInteractions } from "../../../../src/presets/senders/discord/discord-interactions.ts";
import { receivedCall, readSample, signSample } from "../../../../src/testing/preset-probe.ts";
import { answerHandshake, plainCall } from "../answer-handshake.ts";
import { ed25519Pair } from "../ed25519-pair.ts";

const read = (payload: unknown) => readSample(discordInteractions, { payload });
const sample = (name: string) => readSample(discordInteractions, discordInteractions.samples[name]!);

describe("the preset discord-interactions", () => {
  it.each([
    ["application_command", "1300000000000000001", "ada"],
    ["message_component", "1300000000000000002", "grace"],
    ["modal_submit", "1300000000000000003", "ada"],
  ])("knows event, id and sender of the sample %s", (name, id, sender) => {
    expect(sample(name)).toMatchObject({ event: name, deliveryId: id, sender: { name: sender, bot: false } });
    expect(sample(name).skip).toBeUndefined();
  });

  it("says which command was used by whom, where and with what", () => {
    expect(sample("application_command").message).toBe(
      "Discord command /ask by Ada Lovelace in support\nquestion: When is the next release?\nIds: guild 1100000000000000000, channel 1100000000000000001, user 1000000000000000001, interaction 1300000000000000001",
    );
  });

  it("says which button was pressed on which message", () => {
    expect(sample("message_component").message).toBe(
      "Discord component deploy:118:approve used by Grace Hopper in 1100000000000000002\nOn the message: Deploy build 118?\nIds: channel 1100000000000000002, message 1300000000000000000, user 1000000000000000002, interaction 1300000000000000002\nhttps://discord.com/channels/@me/1100000000000000002/1300000000000000000",
    );
  });

  it("lists what was entered into a form, in rows and under labels", () => {
    expect(sample("modal_submit").message).toBe(
      "Discord form report submitted by ada in support\nsummary: The page is blank.\nIds: channel 1100000000000000001, user 1000000000000000001, interaction 1300000000000000003",
    );
    const components = [
      { type: 18, component: { type: 3, custom_id: "severity", values: ["high", "night"] } },
      {
        type: 1,
        components: [
          { type: 4, value: "without a name" },
          { type: 4, custom_id: "empty", value: "" },
        ],
      },
    ];
    expect(read({ type: 5, user: { id: "1" }, data: { custom_id: "r", components } }).message).toBe(
      "Discord form r submitted by 1\nseverity: high, night\nwithout a name\nIds: user 1",
    );
  });

  it("shows what was chosen from a menu", () => {
    expect(read({ type: 3, data: { custom_id: "menu", values: ["a", 2, null] } }).message).toBe(
      "Discord component menu used\nChosen: a, 2",
    );
  });

  it("follows subcommands to their options, and no deeper than Discord nests them", () => {
    const nested = (depth: number): object =>
      depth === 0
        ? { name: "deep", type: 3, value: "x" }
        : { name: `g${depth}`, type: 2, options: [nested(depth - 1)] };
    expect(read({ type: 2, data: { name: "cfg", options: [nested(2)] } }).message).toBe(
      "Discord command /cfg\nSubcommand: g2\nSubcommand: g1\ndeep: x",
    );
    expect(read({ type: 2, data: { name: "cfg", options: [nested(9)] } }).message).toBe(
      "Discord command /cfg\nSubcommand: g9\nSubcommand: g8\nSubcommand: g7",
    );
  });

  it("shows what a command of a menu was used on", () => {
    const data = { name: "Report", type: 3, target_id: "7", resolved: { messages: { "7": { content: "Bad words" } } } };
    expect(read({ type: 2, data }).message).toBe("Discord command Report\nOn the message: Bad words\nIds: message 7");
    const onUser = { name: "Greet", type: 2, target_id: "8", resolved: { users: { "8": { username: "bob" } } } };
    expect(read({ type: 2, data: onUser }).message).toBe("Discord command Greet\nOn the user: bob\nIds: target user 8");
  });

  it("says where the files are that were given to a command or a form", () => {
    const attachments = { "9": { id: "9", filename: "log.txt", url: "https://cdn.example.com/log.txt" } };
    const command = { name: "ask", options: [{ name: "file", type: 11, value: "9" }], resolved: { attachments } };
    expect(read({ type: 2, data: command }).message).toBe(
      "Discord command /ask\nfile: 9\nAttachment 9: log.txt https://cdn.example.com/log.txt",
    );
    const form = {
      custom_id: "report",
      components: [{ type: 18, component: { type: 19, custom_id: "file", values: ["9"] } }],
      resolved: { attachments },
    };
    expect(read({ type: 5, data: form }).message).toBe(
      "Discord form report submitted\nfile: 9\nAttachment 9: log.txt https://cdn.example.com/log.txt",
    );
  });

  it.each([
    [2, { type: 4, data: { content: "Received.", flags: 64 } }],
    [3, { type: 6 }],
    [4, { type: 8, data: { choices: [] } }],
    [5, { type: 4, data: { content: "Received.", flags: 64 } }],
  ])("answers an interaction of type %i as Discord needs it", (type, body) => {
    const { answer } = read({ type });
    expect(answer).toMatchObject({ status: 200, contentType: "application/json" });
    expect(JSON.parse(answer!.body!)).toEqual(body);
  });

  it("answers what it does not know as usual", () => {
    expect(read({ type: 99, data: { a: 1 } })).toMatchObject({
      event: "interaction_99",
      message: "Discord: interaction_99\na: 1",
    });
    expect(read({ type: 99 }).answer).toBeUndefined();
    expect(read({ type: "constructor" }).answer).toBeUndefined();
  });

  it("skips pings and suggestions", () => {
    expect(read({ type: 1 }).skip).toBe("Discord checks the URL");
    expect(read({ type: 4 }).skip).toBe("Discord asks for suggestions on every key");
  });

  it("knows bots", () => {
    expect(read({ type: 2, member: { user: { id: "1", username: "b", bot: true } } }).sender).toEqual({
      name: "b",
      id: "1",
      bot: true,
    });
  });
});

describe("the handshake of discord-interactions", () => {
  const { publicHex, privatePem } = ed25519Pair();
  const ping = { payload: { id: "1", application_id: "2", type: 1, version: 1 } };

  it("answers a signed PING", async () => {
    const call = receivedCall(signSample(discordInteractions, ping, { key: privatePem, secrets: [publicHex] }));
    const answered = await answerHandshake(discordInteractions, call, { secrets: [publicHex] });
    expect(answered).toMatchObject({ name: "PING", answer: { status: 200, payload: '{"type":1}' } });
  });

  it("does not answer one that is not signed", async () => {
    const call = plainCall("POST", "/hooks/discord-interactions", JSON.stringify(ping.payload), "application/json");
    expect(await answerHandshake(discordInteractions, call, { secrets: [publicHex] })).toBeUndefined();
  });

  it("takes no command for a PING", async () => {
    const call = receivedCall(
      signSample(discordInteractions, discordInteractions.samples["application_command"]!, {
        key: privatePem,
        secrets: [publicHex],
      }),
    );
    expect(await answerHandshake(discordInteractions, call, { secrets: [publicHex] })).toBeUndefined();
  });
});
