import { describe, expect, test } from "vitest";
import { compileSchemaCheck } from "../../../../src/config/schema-check.ts";
import { HandshakeSchema } from "../../../../src/config/handshake.ts";
import { answerTo, callOf, compile, SECRET } from "./handshake-bench.ts";
import { SENDERS } from "./sender-handshakes.ts";
import type { SenderRow } from "./sender-handshakes.ts";

const check = compileSchemaCheck(HandshakeSchema);
const titled = SENDERS.map((row) => [row.sender, row] as const);
const METHODS = ["POST", "GET", "HEAD", "OPTIONS", "PUT", "DELETE"];

const contextOf = ({ settings = {}, secrets = [SECRET] }: SenderRow) => ({
  settings,
  secrets,
  publicUrl: "https://gateway.example.com",
});

describe("the handshakes of providers.md 4.3, as data", () => {
  test.each(titled)("%s: the data is valid in a configuration", (_, { handshake }) => {
    expect(check(JSON.parse(JSON.stringify(handshake)))).toEqual([]);
  });

  test.each(titled)("%s: the request is answered as its sender needs it", async (_, row) => {
    expect(await answerTo(row.handshake, row.sent, contextOf(row))).toEqual({
      name: row.handshake.name,
      answer: row.answer,
    });
  });

  test.each(titled)("%s: no other method is answered", async (_, row) => {
    const method = row.handshake.method ?? "POST";
    for (const other of METHODS.filter((name) => name !== method)) {
      expect(await answerTo(row.handshake, { ...row.sent, method: other }, contextOf(row))).toBeUndefined();
    }
  });

  test.each(titled)("%s: is not taken on the other side of the verification", async (_, row) => {
    const compiled = compile([row.handshake], contextOf(row));
    const call = callOf(row.sent);
    expect(await (row.handshake.verified ? compiled.unverified(call) : compiled.verified(call))).toBeUndefined();
  });

  const exact = titled.filter(([, { handshake, sent }]) => handshake.onlyKeys !== undefined && sent.json !== undefined);

  test.each(exact)("%s: an event smuggled along makes it no handshake", async (_, row) => {
    const smuggled = { ...Object(row.sent.json), event: { type: "message", text: "wake up" } };
    expect(await answerTo(row.handshake, { ...row.sent, json: smuggled }, contextOf(row))).toBeUndefined();
  });

  const byQuery = titled.filter(([, { sent }]) => sent.query !== undefined);

  test.each(byQuery)("%s: a parameter that comes twice makes it no handshake", async (_, row) => {
    const name = row.sent.query!.split("=")[0]!;
    const query = `${name}=other&${row.sent.query}`;
    expect(await answerTo(row.handshake, { ...row.sent, query }, contextOf(row))).toBeUndefined();
  });
});
