import { describe, expect, it } from "vitest";
import type { Handshake } from "../../../../src/config/handshake.ts";
import { callOf, compile, keyBox } from "./handshake-bench.ts";

/** A question whose answer is a text that the route's secret signs. */
const asking = (changes: Partial<Handshake> = {}, algorithm: "hmac-sha256" | "sha256" = "hmac-sha256"): Handshake => ({
  name: "CRC",
  method: "GET",
  verified: false,
  when: { "query:crc_token": true },
  onlyKeys: ["crc_token"],
  computed: { token: { algorithm, encoding: "hex", of: "{query:crc_token}" } },
  reply: { status: 200, json: { response_token: "{computed:token}" } },
  ...changes,
});
const PLAIN: Handshake = {
  name: "check",
  method: "GET",
  verified: false,
  when: { "query:check": true },
  reply: { status: 200, text: "{query:check}" },
};

describe("a signature that anybody can ask for", () => {
  it("proves nothing of a body in the form of a token, or of none", () => {
    const handshakes = compile([PLAIN, asking()]);
    expect(handshakes.signsTokens).toBe(true);
    const bodies = ["", "123", "a_b.c~d+e/f-g", "abc=", "abc==", "x".repeat(256), `${"x".repeat(256)}==`];
    for (const body of bodies) expect(handshakes.isForgeable(Buffer.from(body))).toBe(true);
  });

  it("still proves a body that no token could be", () => {
    const handshakes = compile([asking()]);
    const bodies = ['{"a":1}', "[]", "a=1", "a b", "abc===", "=a", "x".repeat(257), `${"x".repeat(257)}=`, "é", "a\n"];
    for (const body of bodies) expect(handshakes.isForgeable(Buffer.from(body))).toBe(false);
  });

  it("is none where the secret signs nothing, or only what the sender has signed itself", () => {
    const post = { method: "POST" as const, when: { "query:crc_token": true as const } };
    for (const data of [[], [PLAIN], [asking({}, "sha256")], [asking({ ...post, verified: true })]]) {
      const handshakes = compile(data);
      expect(handshakes.signsTokens).toBe(false);
      expect(handshakes.isForgeable(Buffer.from("123"))).toBe(false);
    }
  });

  it("is one as soon as one of several values is made with the secret", () => {
    const computed = {
      plain: { algorithm: "sha256" as const, encoding: "hex" as const, of: "{query:crc_token}" },
      token: { algorithm: "hmac-sha256" as const, encoding: "hex" as const, of: "{query:crc_token}" },
    };
    expect(compile([asking({ computed })]).signsTokens).toBe(true);
  });
});

describe("a key that cannot be kept", () => {
  const delivering: Handshake = {
    name: "key",
    verified: false,
    when: { "body:key": true },
    onlyKeys: ["key"],
    reply: { status: 200 },
    effect: { keyFrom: "body:key" },
  };

  it("is answered 503, so that its sender tries again", async () => {
    const full = { ...keyBox(), accept: () => Promise.reject(new Error("no space left")) };
    const handshakes = compile([delivering], { secrets: [], deliveredKeys: full });
    const recognized = await handshakes.unverified(callOf({ json: { key: "a-key-of-good-length-0123" } }));
    expect(recognized?.answer.status).toBe(503);
    expect(JSON.parse(recognized?.answer.payload ?? "")).toMatchObject({ ok: false, code: "STORE_UNAVAILABLE" });
  });
});
