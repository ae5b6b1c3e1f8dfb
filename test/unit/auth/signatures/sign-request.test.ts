import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { signRequest } from "../../../../src/auth/signatures/sign-request.ts";
import type { UnsignedRequest } from "../../../../src/auth/signatures/sign-request.ts";
import type { AuthInput } from "../../../../src/config/auth/schema.ts";
import { authOf, contextOf, NOW, outcome, PUBLIC_URL, received, verifierOf, verify } from "./scheme-bench.ts";
import type { SenderRow } from "./sender-row.ts";
import { HMAC_SENDERS } from "./sender-table-hmac.ts";
import { ED25519, OTHER_SENDERS, P256, RSA } from "./sender-table-other.ts";

const SENDERS = [...HMAC_SENDERS, ...OTHER_SENDERS].filter(({ shape }) => shape !== "token");
const JSON_TYPE = { "content-type": "application/json" };
const FORM_TYPE = { "content-type": "application/x-www-form-urlencoded" };

function requestOf(changes: Partial<UnsignedRequest> = {}): UnsignedRequest {
  return {
    method: "POST",
    url: `${PUBLIC_URL}/hooks/sender`,
    headers: JSON_TYPE,
    body: Buffer.from('{"a":1}'),
    now: NOW,
    key: "a shared secret of the sender",
    ...changes,
  };
}

function keyOf({ auth, shape }: SenderRow): string {
  if (shape === "certificate") return RSA.privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  if (shape !== "public key") return auth.secret ?? "";
  const { privateKey } = auth.algorithm === "ed25519" ? ED25519 : P256;
  return privateKey.export({ format: "pem", type: "pkcs8" }).toString();
}

const PAYLOAD = {
  Type: "Notification",
  MessageId: "1",
  TopicArn: "arn:aws:sns:us-east-1:1:t",
  Message: "Hello",
  SignatureVersion: "2",
  value: [{ clientState: "?" }, {}],
  webhookTimestamp: 0,
};

/** Signs with the scheme and reads back what it put into one place. */
function signedWith(input: AuthInput, changes: Partial<UnsignedRequest> = {}) {
  return signRequest(authOf({ secret: "a secret", ...input }), requestOf({ key: "a secret", ...changes }));
}

const textOf = (body: Uint8Array) => Buffer.from(body).toString();

describe("signRequest", () => {
  it.each(SENDERS)("signs as $sender does", async (row) => {
    const remoteKeys = { ...contextOf().remoteKeys, certificate: () => RSA.pem };
    const verifier = verifierOf(row.auth, { remoteKeys });
    const body = Buffer.from(JSON.stringify(PAYLOAD));
    const signed = signRequest(authOf(row.auth), requestOf({ key: keyOf(row), body }));
    const pathSecret = row.auth.from === "path" ? decodeURIComponent(signed.url.split("/").at(-1)!) : undefined;
    expect(outcome(await verifier.verify(received(signed, { pathSecret })))).toBe(true);
  });

  it.each(SENDERS.filter(({ shape }) => shape === "body" || shape === "pairs" || shape === "identified"))(
    "signs any body, and no other one, as $sender does",
    (row) => {
      if (row.auth.timestamp?.from?.startsWith("body:")) return;
      const verifier = verifierOf(row.auth);
      fc.assert(
        fc.property(fc.uint8Array({ minLength: 1 }), fc.nat(), fc.integer({ min: 1, max: 255 }), (body, at, bits) => {
          const signed = signRequest(authOf(row.auth), requestOf({ key: keyOf(row), body }));
          expect(outcome(verify(verifier, received(signed)))).toBe(true);
          const other = Uint8Array.from(body);
          other[at % body.length]! ^= bits;
          expect(outcome(verify(verifier, received(signed, { body: other })))).toBe("no signature matches");
        }),
        { numRuns: 5 },
      );
    },
  );

  it("writes the names of headers in lower case and keeps those that it was given", () => {
    const signed = signedWith({ from: "header:X-Sig", prefix: "v1=" }, { headers: { "X-Event": "push" } });
    expect(Object.keys(signed.headers)).toEqual(["x-event", "x-sig"]);
    expect(signed.headers["x-event"]).toBe("push");
    expect(signed.headers["x-sig"]).toMatch(/^v1=[0-9a-f]{64}$/);
    expect(signed.url).toBe(`${PUBLIC_URL}/hooks/sender`);
  });

  it("puts time and id into pairs before the signature", () => {
    const pairs: AuthInput = {
      from: "header:sig",
      prefix: "HMAC ",
      pair: "v1",
      content: "{pair:id}.{pair:nonce}.{timestamp}.{body}",
      id: "pair:id",
      timestamp: { from: "pair:t" },
    };
    const { headers } = signedWith({ ...pairs, separator: ";" }, { id: "abc" });
    expect(headers["sig"]).toMatch(/^HMAC t=1795176000;id=abc;nonce=[0-9a-f]{16};v1=[0-9a-f]{64}$/);
    expect(signedWith(pairs, { id: "abc" }).headers["sig"]).toMatch(/^HMAC t=1795176000,id=abc,nonce=/);
  });

  it.each([
    ["seconds", "1795176000"],
    ["milliseconds", "1795176000123"],
    ["iso8601", "2026-11-20T12:00:00.123Z"],
  ] as const)("writes the time in %s", (unit, text) => {
    const input: AuthInput = { from: "header:sig", content: "{timestamp}", timestamp: { from: "header:ts", unit } };
    expect(signedWith(input, { now: NOW + 123, headers: { ts: "old" } }).headers["ts"]).toBe(text);
  });

  const identified: AuthInput = { from: "header:sig", content: "{id}.{body}", id: "header:msg-id" };

  it("makes up an id, keeps the one that is there, and takes the one that it is given", () => {
    expect(signedWith(identified).headers["msg-id"]).toMatch(/^msg_[0-9a-f]{24}$/);
    expect(signedWith(identified).headers["msg-id"]).not.toBe(signedWith(identified).headers["msg-id"]);
    const headers = { "msg-id": "mine" };
    expect(signedWith(identified, { headers }).headers["msg-id"]).toBe("mine");
    expect(signedWith(identified, { headers, id: "given" }).headers["msg-id"]).toBe("given");
  });

  it("refuses an id that the scheme could not sign", () => {
    expect(() => signedWith(identified, { id: "a.b" })).toThrow(
      new TypeError("The request cannot be signed: the id is missing or malformed."),
    );
  });

  it("puts values into a JSON body where they belong, numbers as numbers", () => {
    const input: AuthInput = {
      from: "body:auth.signature",
      content: "{timestamp}{body:auth.nonce}",
      timestamp: { from: "body:meta.time" },
    };
    const body = Buffer.from('{"meta":{"time":5,"kept":true},"auth":"replaced"}');
    const payload: unknown = JSON.parse(textOf(signedWith(input, { body }).body));
    expect(payload).toEqual({
      meta: { time: 1_795_176_000, kept: true },
      auth: { nonce: expect.stringMatching(/^[0-9a-f]{16}$/) as string, signature: expect.any(String) as string },
    });
    const empty: unknown = JSON.parse(textOf(signedWith(input, { body: Buffer.alloc(0) }).body));
    expect(empty).toMatchObject({ meta: { time: "1795176000" } });
  });

  it("puts values into a form", () => {
    const input: AuthInput = { scheme: "secret", from: "body:token" };
    const signed = signedWith(input, { headers: FORM_TYPE, body: Buffer.from("a=1&token=old"), key: "new one" });
    expect(textOf(signed.body)).toBe("a=1&token=new+one");
  });

  it.each(["Hello", "5", "null", "[1"])("cannot put a value into the body %s", (body) => {
    expect(() => signedWith({ scheme: "secret", from: "body:token" }, { body: Buffer.from(body) })).toThrow(
      new TypeError("The scheme puts a value into the body, which has to be a JSON object or a form for that."),
    );
  });

  it("puts a value into a form of parts, before its end and with the others as they were", async () => {
    const boundary = "x-y-z";
    const part = `--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n`;
    const signed = signedWith(
      { scheme: "secret", from: "body:token" },
      {
        headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
        body: Buffer.from(`${part}--${boundary}--\r\n`),
      },
    );
    const type = signed.headers["content-type"]!;
    const form = await new Response(new Uint8Array(signed.body), { headers: { "content-type": type } }).formData();
    expect([...form]).toEqual([
      ["a", "1"],
      ["token", "a secret"],
    ]);
  });

  it("shows a secret in every item of a list", () => {
    const input: AuthInput = { scheme: "secret", from: "body:value[].state" };
    const body = Buffer.from('{"value":[{"id":1},{"state":"x"},7]}');
    expect(textOf(signedWith(input, { body }).body)).toBe(
      '{"value":[{"id":1,"state":"a secret"},{"state":"a secret"},7]}',
    );
    expect(textOf(signedWith(input, { body: Buffer.from('{"value":1}') }).body)).toBe('{"value":1}');
    const root: AuthInput = { scheme: "secret", from: "body:[].state" };
    expect(textOf(signedWith(root, { body: Buffer.from("[{}]") }).body)).toBe('[{"state":"a secret"}]');
    expect(textOf(signedWith(input, { body: Buffer.from("{}") }).body)).toBe("{}");
    const deep: AuthInput = { scheme: "secret", from: "body:a.b[].state" };
    expect(textOf(signedWith(deep, { body: Buffer.from('{"a":{"b":[{}]}}') }).body)).toBe(
      '{"a":{"b":[{"state":"a secret"}]}}',
    );
  });

  it("shows a secret in a query, in the place of an older one", () => {
    const input: AuthInput = { scheme: "secret", from: "query:the key" };
    const url = `${PUBLIC_URL}/hooks/sender?a=1&the%20key=old&b=%20`;
    expect(signedWith(input, { url }).url).toBe(`${PUBLIC_URL}/hooks/sender?a=1&b=%20&the%20key=a%20secret`);
    expect(signedWith(input).url).toBe(`${PUBLIC_URL}/hooks/sender?the%20key=a%20secret`);
  });

  it("shows a secret as the last segment of the path", () => {
    const input: AuthInput = { scheme: "secret", from: "path" };
    expect(signedWith(input).url).toBe(`${PUBLIC_URL}/hooks/sender/a%20secret`);
    expect(signedWith(input, { url: "/hooks/sender/?a=1/2" }).url).toBe("/hooks/sender/a%20secret?a=1/2");
  });

  it("writes a secret into a header as bytes of UTF-8", () => {
    const signed = signedWith({ scheme: "secret", from: "header:key" }, { key: "schlüssel" });
    expect(Buffer.from(signed.headers["key"]!, "latin1").toString("utf8")).toBe("schlüssel");
  });

  it.each(["a secret", "user:a secret"])("logs in with the key %s", (key) => {
    const signed = signedWith({ scheme: "basic", username: "user" }, { key });
    expect(signed.headers["authorization"]).toBe(`Basic ${Buffer.from("user:a secret").toString("base64")}`);
  });

  it("logs in with a key that the configuration does not know, as it is", () => {
    const signed = signedWith({ scheme: "basic", username: "user" }, { key: "someone:else" });
    expect(signed.headers["authorization"]).toBe(`Basic ${Buffer.from("someone:else").toString("base64")}`);
  });

  it("presents a token that was made elsewhere", () => {
    const input: AuthInput = { scheme: "jwt", jwksUrl: "https://keys.example.com", issuer: ["i"], audience: "a" };
    expect(signedWith(input, { key: "a.b.c" }).headers["authorization"]).toBe("Bearer a.b.c");
  });

  it.each<AuthInput>([
    { algorithm: "hmac-sha256", issuer: ["i"], bodyDigest: { from: "claim:sha256" } },
    { algorithm: "hmac-sha512", audience: "a", claims: { kind: "event" }, from: "header:x-token" },
  ])("signs a token with a shared secret as %j says", async (input) => {
    const auth: AuthInput = { scheme: "jwt", secret: "a secret", ...input };
    const call = received(signedWith(auth));
    const verifier = verifierOf(auth);
    expect(await verifier.verify(call)).toMatchObject({ ok: true });
    const changed = await verifier.verify({ ...call, body: Buffer.from("{}") });
    expect(changed.ok).toBe(auth.bodyDigest === undefined);
  });

  it("names an algorithm that the scheme allows", () => {
    const values = { one: "hmac-sha1", two: "hmac-sha256" } as const;
    const input: AuthInput = { from: "header:sig", algorithm: { from: "header:algo", values } };
    expect(signedWith(input).headers).toMatchObject({ algo: "one", sig: expect.stringMatching(/^.{40}$/) as string });
    const named = signedWith(input, { headers: { algo: "two" } });
    expect(named.headers).toMatchObject({ algo: "two", sig: expect.stringMatching(/^.{64}$/) as string });
    expect(signedWith(input, { headers: { algo: "none" } }).headers["algo"]).toBe("one");
  });

  it("names a certificate of a host that the scheme allows, unless one is named already", () => {
    const input: AuthInput = {
      from: "header:sig",
      algorithm: "rsa-sha256",
      certificate: { from: "header:cert", hosts: ["keys.*.example.com"] },
    };
    const key = RSA.privateKey.export({ format: "pem", type: "pkcs8" }).toString();
    expect(signedWith(input, { key }).headers["cert"]).toBe("https://keys.us-east-1.example.com/certificate.pem");
    expect(signedWith(input, { key, headers: { cert: "mine" } }).headers["cert"]).toBe("mine");
  });

  it("adds the digest of a body that is no form, and none for a form that is signed itself", () => {
    const input: AuthInput = {
      from: "header:sig",
      content: "{url}{form}",
      bodyDigest: { from: "query:digest", algorithm: "sha256", encoding: "hex" },
    };
    const json = signedWith(input);
    expect(json.url).toMatch(/\?digest=[0-9a-f]{64}$/);
    expect(outcome(verify(verifierOf({ ...input, secret: "a secret" }), received(json)))).toBe(true);
    expect(signedWith(input, { headers: FORM_TYPE }).url).not.toContain("digest");
    const plain = signedWith({ ...input, content: "{url}" }, { headers: FORM_TYPE });
    expect(plain.url).toContain("digest");
  });

  it("signs for whatever address the sender was given", () => {
    const input: AuthInput = { from: "header:sig", content: "{url}|{path}|{body}", secret: "a secret" };
    const publicUrl = "http://127.0.0.1:8080/base";
    const signed = signedWith(input, { url: `${publicUrl}/hooks/sender?x=1` });
    const call = received(signed, { target: "/hooks/sender?x=1" });
    expect(outcome(verify(verifierOf(input, { publicUrl }), call))).toBe(true);
    expect(outcome(verify(verifierOf(input), call))).toBe("no signature matches");
  });
});
