import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { signRequest } from "../../../../src/auth/signatures/sign-request.ts";
import type { AuthInput } from "../../../../src/config/auth/schema.ts";
import { authOf, callOf, NOW, PUBLIC_URL, received, verifierOf, verify } from "./scheme-bench.ts";

const SECRET = "a shared secret of the sender";
const AUTH: AuthInput = { secret: SECRET, from: "body:mac", content: "{body:id}:{body:note?}", each: "items" };
const HEADERS = { "content-type": "application/json" };

const macOf = (text: string) => createHmac("sha256", SECRET).update(text).digest("hex");
const signedItem = (id: string, note = "") => ({ id, ...(note === "" ? {} : { note }), mac: macOf(`${id}:${note}`) });

function answer(items: unknown, auth: AuthInput = AUTH) {
  return verify(verifierOf(auth), callOf({ headers: HEADERS, body: JSON.stringify({ items }) }));
}

describe("a scheme that signs each item of a list", () => {
  it("reads the places in the body from the item, and an empty text where one may be missing", () => {
    expect(answer([signedItem("1"), signedItem("2", "a note")])).toMatchObject({ ok: true });
    expect(answer([signedItem("1"), { ...signedItem("2", "a note"), note: "another" }])).toMatchObject({ ok: false });
    expect(answer([{ mac: macOf(":") }])).toEqual({ ok: false, reason: "body id is missing" });
  });

  it("refuses a body without the list, and items that are none", () => {
    for (const items of [undefined, [], {}, "items"]) {
      expect(answer(items)).toEqual({ ok: false, reason: "body items has no items" });
    }
    expect(answer([signedItem("1"), null])).toEqual({ ok: false, reason: "body mac is missing" });
  });

  it("verifies 16 items, and refuses more", () => {
    const items = Array.from({ length: 17 }, (_, at) => signedItem(String(at)));
    expect(answer(items.slice(0, 16))).toMatchObject({ ok: true });
    expect(answer(items)).toEqual({ ok: false, reason: "body items has more than 16 items" });
  });

  it("knows a call again by all of its items", () => {
    const auth = { ...AUTH, content: "{body:id}" };
    const item = (id: string) => ({ id, mac: macOf(id) });
    const replayOf = (...ids: readonly string[]) => {
      const verification = answer(ids.map(item), auth);
      return verification.ok && Buffer.from(verification.replay!.digest).toString("hex");
    };
    expect(replayOf("1", "2")).toBe(replayOf("1", "2"));
    expect(replayOf("1", "2")).not.toBe(replayOf("1", "3"));
    expect(replayOf("1", "2")).not.toBe(replayOf("1"));
  });

  it("is signed item by item", () => {
    const body = Buffer.from(JSON.stringify({ live: true, items: [{ id: "1" }, { id: "2", note: "a note" }] }));
    const request = {
      method: "POST",
      url: `${PUBLIC_URL}/hooks/sender`,
      headers: HEADERS,
      body,
      now: NOW,
      key: SECRET,
    };
    const signed = signRequest(authOf(AUTH), request);
    expect(JSON.parse(Buffer.from(signed.body).toString())).toEqual({
      live: true,
      items: [signedItem("1"), signedItem("2", "a note")],
    });
    expect(verify(verifierOf(AUTH), received(signed))).toMatchObject({ ok: true });
  });
});
