import { describe, expect, test } from "vitest";
import type { Handshake } from "../../../../src/config/handshake.ts";
import { answerTo, keyBox } from "./handshake-bench.ts";
import type { Sent } from "./handshake-bench.ts";
import { SENDERS } from "./sender-handshakes.ts";

const handshakeOf = (sender: string): Handshake => SENDERS.find((row) => row.sender === sender)!.handshake;

const x = handshakeOf("X");
const smartcar = handshakeOf("Smartcar");
const TOKEN = "verify-token-of-the-owner";

describe("what is signed on request", () => {
  const crc = (token: string): Sent => ({ method: "GET", query: `crc_token=${encodeURIComponent(token)}` });

  test.each([
    '{"event":"made up"}',
    "[1]",
    '"text"',
    "a b",
    "text=wake",
    "a=b=",
    "===",
    "=",
    "a===",
    "ä",
    "a&b",
    "a,b",
    "a:b",
  ])("a text that could be an event is not signed: %s", async (token) => {
    expect(await answerTo(x, crc(token))).toBeUndefined();
  });

  test.each(["a", "a=", "a==", "A_z0-9.~+/", "a".repeat(256)])("a token is: %s", async (token) => {
    expect(await answerTo(x, crc(token))).toBeDefined();
  });

  test("a token of 257 characters is not", async () => {
    expect(await answerTo(x, crc("a".repeat(257)))).toBeUndefined();
  });

  test("a body that the key signs is not signed for Smartcar's challenge", async () => {
    const challenge = '{"eventType":"VEHICLE_STATE"}';
    expect(await answerTo(smartcar, { json: { eventType: "VERIFY", data: { challenge } } })).toBeUndefined();
  });

  test("a verified request may have any text signed", async () => {
    expect(await answerTo({ ...x, verified: true }, crc("a b"))).toBeDefined();
  });

  test("a digest without a key may be of any text", async () => {
    const ebay = handshakeOf("eBay, with the endpoint as a setting");
    const settings = { verificationToken: TOKEN, endpoint: "https://example.com" };
    expect(await answerTo(ebay, { method: "GET", query: "challenge_code=a+b" }, { settings })).toBeDefined();
  });

  test("nothing is signed without a key", async () => {
    expect(await answerTo(x, crc("a"), { secrets: [] })).toBeUndefined();
    expect(await answerTo(x, crc("a"), { secrets: [""] })).toBeUndefined();
  });

  test("the first secret signs", async () => {
    const answer = await answerTo(x, crc("a"), { secrets: ["first", "second"] });
    expect(answer).toEqual(await answerTo(x, crc("a"), { secrets: ["first"] }));
    expect(answer).not.toEqual(await answerTo(x, crc("a"), { secrets: ["second"] }));
  });

  test("without a secret the key signs that the sender delivered", async () => {
    const deliveredKeys = keyBox();
    await deliveredKeys.accept("sender", "delivered-key");
    const answer = await answerTo(x, crc("a"), { secrets: [], deliveredKeys });
    expect(answer).toEqual(await answerTo(x, crc("a"), { secrets: ["delivered-key"] }));
  });
});
