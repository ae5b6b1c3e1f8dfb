import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { HandshakeAnswer } from "../../../../src/auth/handshake/handshake.ts";
import { callOf, compile, keyBox } from "./handshake-bench.ts";
import type { Sent } from "./handshake-bench.ts";
import { SENDERS } from "./sender-handshakes.ts";

const unsigned = SENDERS.filter(({ handshake }) => !handshake.verified);
const settings = { verifyToken: "verify-token-of-the-owner", verificationToken: "verify-token-of-the-owner" };

/** Names that matter to some handshake, and others. */
const name = fc.oneof(
  fc.constantFrom("challenge", "type", "token", "ssl_check", "hub.mode", "hub.challenge", "hub.verify_token", "events"),
  fc.constantFrom("validationToken", "crc_token", "challengeCode", "verification_token", "__proto__", "constructor"),
  fc.string({ maxLength: 8 }),
);
const value = fc.oneof(
  fc.constantFrom("1", "url_verification", "subscribe", "VERIFY", "verify-token-of-the-owne", "abc", "a\r\nb"),
  fc.string({ maxLength: 20 }),
);
const json = fc.oneof(
  fc.dictionary(name, fc.oneof(value, fc.integer(), fc.constant(null), fc.constant([]), fc.dictionary(name, value)), {
    maxKeys: 4,
  }),
  fc.jsonValue(),
);
const sent: fc.Arbitrary<Sent> = fc.record(
  {
    method: fc.constantFrom("POST", "GET", "HEAD", "OPTIONS", "PUT"),
    query: fc.array(fc.tuple(name, value), { maxLength: 3 }).map((pairs) => new URLSearchParams(pairs).toString()),
    headers: fc.dictionary(
      fc.constantFrom("x-hook-secret", "validation-token", "webhook-request-origin", "x-vercel-verify", "accept"),
      value,
    ),
    json,
  },
  { requiredKeys: [] },
);

const compileAll = () =>
  compile(
    unsigned.map(({ handshake }) => handshake),
    { settings, deliveredKeys: keyBox() },
  );

/** The parts of an unsigned request, read by other means than the product's. */
interface Parts {
  readonly method: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** A key that no parsed body has. */
const isDropped = (key: string): boolean => key === "__proto__";

/** The exact shapes of `unsigned`, in words of their own. */
function isExact(handshakeName: string, { method, query, body, headers }: Parts): boolean {
  const names = [...query.keys()];
  const onlyQuery = (...allowed: readonly string[]): boolean => names.every((key) => allowed.includes(key));
  // An empty body, or a JSON scalar, has no keys.
  const keys = typeof body === "object" && body !== null ? Object.keys(body) : [];
  const onlyBody = (...allowed: readonly string[]): boolean =>
    !Array.isArray(body) && keys.every((key) => allowed.includes(key) || isDropped(key));
  if (new Set(names).size !== names.length) return false;
  switch (handshakeName) {
    case "ssl_check":
      return method === "POST" && String(Object(body).ssl_check) === "1";
    case "challenge":
      return method === "POST" ? onlyBody("challenge") : method === "GET" && onlyQuery("challenge");
    case "check":
    case "validationtoken":
    case "challenge_code":
      return query.has(handshakeName) && (method === "POST" || onlyQuery(handshakeName));
    case "validationToken":
      return query.has(handshakeName) && (method === "POST" ? body === undefined : onlyQuery(handshakeName));
    case "challengeCode":
      return method === "GET" && onlyQuery("challengeCode", "applicationId");
    case "crc":
      return method === "GET" && onlyQuery("crc_token", "nonce");
    case "Validation-Token":
    case "x-vercel-verify":
      return method === "POST" && (headers[handshakeName.toLowerCase()] ?? "") !== "" && onlyBody();
    case "HEAD":
      return method === "HEAD" && body === undefined;
    case "empty":
      return method === "POST" && body === undefined;
    case "OPTIONS":
      return method === "OPTIONS" && (headers["webhook-request-origin"] ?? "") !== "" && body === undefined;
    default:
      // Those that need a token, a key or a word that no generator here makes in full.
      return false;
  }
}

describe("requests that nothing has verified", () => {
  test("none outside the exact shape of a handshake is answered", async () => {
    await fc.assert(
      fc.asyncProperty(sent, async (request) => {
        const answer = await compileAll().unverified(callOf(request));
        if (answer === undefined) return;
        const { method = "POST", query = "", headers = {}, json: body } = request;
        expect(isExact(answer.name, { method, query: new URLSearchParams(query), body, headers })).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test("no answer holds a line break, a secret or a header that the data does not name", async () => {
    const known = new Set(["content-type", "content-length", "cache-control", "x-content-type-options", "allow"]);
    const named = new Set(unsigned.flatMap(({ handshake }) => Object.keys(handshake.reply.headers ?? {})));
    for (const header of named) known.add(header.toLowerCase());
    await fc.assert(
      fc.asyncProperty(sent, async (request) => {
        const answer = await compileAll().unverified(callOf(request));
        for (const [header, text] of Object.entries(answer?.answer.headers ?? {})) {
          expect(known).toContain(header);
          expect(String(text)).not.toMatch(/[\r\n]/);
        }
        expect(answer?.answer.payload ?? "").not.toContain(settings.verifyToken);
      }),
      { numRuns: 500 },
    );
  });

  test("one more key in the body is never answered, whatever its name and value", () => {
    const exact = unsigned.filter(
      ({ handshake, sent: { json: body } }) => handshake.onlyKeys !== undefined && body !== undefined,
    );
    fc.assert(
      fc.property(fc.constantFrom(...exact), fc.string({ minLength: 1 }), fc.jsonValue(), (row, key, extra) => {
        fc.pre(!row.handshake.onlyKeys!.includes(key) && !isDropped(key));
        const body = { ...Object(row.sent.json), [key]: extra };
        const compiled = compile([row.handshake], { settings, secrets: row.secrets ?? ["secret"] });
        expect(compiled.unverified(callOf({ ...row.sent, json: body }))).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  test("a challenge comes back as it came, or not at all", () => {
    const nylas = unsigned.find(({ sender }) => sender.startsWith("Nylas"))!;
    const compiled = compile([nylas.handshake]);
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 50 }), (challenge) => {
        const query = new URLSearchParams({ challenge }).toString();
        const found = compiled.unverified(callOf({ method: "GET", query })) as HandshakeAnswer | undefined;
        if (found !== undefined) expect(found.answer.payload).toBe(challenge);
      }),
    );
  });
});
