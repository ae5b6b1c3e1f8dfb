import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { trello } from "../../../../src/presets/senders/trello.ts";
import { PUBLIC_URL, readPayload, readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { answerHandshake, plainCall } from "../answer-handshake.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const read = (action: object) => readSample(trello, { payload: { action } });

describe("the preset trello", () => {
  itReadsSamples(trello, {
    createCard: {
      event: "createCard",
      deliveryId: "6f0000000000000000000001",
      sender: { name: "ada", id: "5f0000000000000000000009", bot: false },
      message: ['Ada Lund created card "Fix login" on the board App', "https://trello.com/c/cArD4567"],
    },
    updateCard: {
      event: "updateCard",
      deliveryId: "6f0000000000000000000002",
      sender: { name: "ada", id: "5f0000000000000000000009", bot: false },
      message: [
        'Ada Lund moved card "Fix login" from To Do to Doing on the board App',
        "https://trello.com/c/cArD4567",
      ],
    },
    commentCard: {
      event: "commentCard",
      deliveryId: "6f0000000000000000000003",
      sender: { name: "ada", id: "5f0000000000000000000009", bot: false },
      message: [
        'Ada Lund commented on card "Fix login" on the board App',
        "It also happens on the phone.",
        "https://trello.com/c/cArD4567",
      ],
    },
  });

  const secret = "an-invented-api-secret";
  const signed = (url: string) =>
    sampleCall(trello, "createCard", (body) => ({
      "x-trello-webhook": createHmac("sha1", secret).update(body).update(url).digest("base64"),
    }));

  it("takes the HMAC-SHA1 of the body and the callback URL", async () => {
    const options = { secrets: [secret] };
    expect(await verifyCall(trello, signed(`${PUBLIC_URL}/hooks/trello`), options)).toMatchObject({ ok: true });
    expect(await verifyCall(trello, signed("https://elsewhere.example.com/hooks/trello"), options)).toMatchObject({
      ok: false,
    });
    const flipped = { ...signed(`${PUBLIC_URL}/hooks/trello`), body: Buffer.from("{}") };
    expect(await verifyCall(trello, flipped, options)).toMatchObject({ ok: false });
  });

  it("answers 200 when Trello asks for the URL with HEAD", async () => {
    const answer = await answerHandshake(trello, plainCall("HEAD", "/hooks/trello"), { secrets: [secret] });
    expect(answer).toMatchObject({ answer: { status: 200 } });
    expect(await answerHandshake(trello, plainCall("POST", "/hooks/trello"), { secrets: [secret] })).toBeUndefined();
  });

  it("takes for the agent's own what came through the app that is named, and no other app for a bot", () => {
    const action = { memberCreator: { username: "ada", id: "m1" }, appCreator: { id: "a1" } };
    const senderFor = (settings: Record<string, unknown>) =>
      readPayload(trello, { action }, { sample: { payload: {} }, settings }).sender;
    expect(senderFor({ appId: "a1" })).toEqual({ name: "ada", id: "m1", bot: true, own: true });
    for (const settings of [{}, { appId: "a2" }]) {
      expect(senderFor(settings)).toEqual({ name: "ada", id: "m1", bot: false });
    }
  });

  it.each<[string, object, readonly string[]]>([
    ["updateCard", { card: { name: "New", closed: true }, old: { closed: false } }, ['Ada archived card "New"']],
    ["updateCard", { card: { name: "New", closed: false }, old: { closed: true } }, ['Ada unarchived card "New"']],
    [
      "updateCard",
      { card: { name: "New", due: "2026-12-01" }, old: { name: "Old" } },
      ['Ada changed card "New"', "Name was: Old", "Due: 2026-12-01"],
    ],
    [
      "updateCheckItemStateOnCard",
      { card: { name: "C" }, checkItem: { name: "Test", state: "complete" } },
      ['Ada ticked "Test" on card "C"'],
    ],
    [
      "updateCheckItemStateOnCard",
      { card: { name: "C" }, checkItem: { name: "Test", state: "incomplete" } },
      ['Ada unticked "Test" on card "C"'],
    ],
    ["addMemberToCard", { card: { name: "C" }, member: { name: "Ben" } }, ['Ada added member "Ben" to card "C"']],
    [
      "addAttachmentToCard",
      { card: { name: "C" }, attachment: { name: "log", url: "https://files.example.com/log" } },
      ['Ada attached attachment "log" to card "C"', "https://files.example.com/log"],
    ],
    [
      "createList",
      { list: { name: "L" }, board: { shortLink: "b1" } },
      ['Ada created list "L"', "https://trello.com/b/b1"],
    ],
    ["convertToCardFromCheckItem", { card: { name: "C" } }, ["Trello: convert to card from check item by Ada: C"]],
    ["moveListFromBoard", { list: { name: "L" } }, ["Trello: move list from board by Ada: L"]],
    ["updateBoard", { odd: 1 }, ["Trello: update board by Ada", '{"odd":1}']],
    ["addMemberToCard", { member: { name: "Ben" } }, ['Ada added member "Ben"']],
    ["updateCard", { listBefore: { name: "A" }, listAfter: { name: "B" } }, ["Ada moved card from A to B"]],
  ])("says of %s %j what happened", (type, data, lines) => {
    expect(read({ type, data, memberCreator: { fullName: "Ada" } }).message).toBe(lines.join("\n"));
  });
});
