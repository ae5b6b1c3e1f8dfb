/** A handshake whose reply is what a test is about, and what it is sent. */
import type { Handshake } from "../../../../src/config/handshake.ts";
import { answerTo } from "./handshake-bench.ts";
import type { Sent } from "./handshake-bench.ts";

export const handshakeOf = (reply: Partial<Handshake["reply"]>, changes: Partial<Handshake> = {}): Handshake => ({
  name: "check",
  verified: true,
  when: { "body:type": "check" },
  reply: { status: 200, ...reply },
  ...changes,
});
export const SENT: Sent = {
  query: "q.r=from+query",
  headers: { "x-name": "from-header" },
  json: { type: "check", a: [{ b: "from body" }], n: 7, yes: true, half: "\ud800" },
};
export const answerOf = async (reply: Partial<Handshake["reply"]>, settings = {}) =>
  (await answerTo(handshakeOf(reply), SENT, { settings }))?.answer;
export const refusal = (reason: string) => new TypeError(`The handshake "check" cannot be used: ${reason}.`);
