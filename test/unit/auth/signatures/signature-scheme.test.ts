import { createHash, createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AuthInput } from "../../../../src/config/auth/schema.ts";
import { callOf, NOW, NOW_SECONDS, outcome, verifierOf, verify } from "./scheme-bench.ts";

const SECRET = "a shared secret";
const PLAIN: AuthInput = { from: "header:sig", secret: SECRET };
const TIMED: AuthInput = {
  ...PLAIN,
  pair: "v1",
  content: "{timestamp}.{body}",
  timestamp: { from: "pair:t", toleranceSeconds: 300, futureSeconds: 30 },
};

const hmac = (content: string | Uint8Array, secret = SECRET, algorithm = "sha256") =>
  createHmac(algorithm, secret).update(content).digest("hex");
const check = (input: AuthInput, sig: string, changes: Parameters<typeof callOf>[0] = {}) =>
  outcome(verify(verifierOf(input), callOf({ headers: { sig }, body: "{}", ...changes })));
const timed = (time: number | string, body = "{}") => `t=${time},v1=${hmac(`${time}.${body}`)}`;

describe("an HMAC", () => {
  it.each([
    ["hmac-sha1", "sha1"],
    ["hmac-sha256", "sha256"],
    ["hmac-sha512", "sha512"],
  ] as const)("of the algorithm %s is verified", (algorithm, name) => {
    expect(check({ ...PLAIN, algorithm }, hmac("{}", SECRET, name))).toBe(true);
    expect(check({ ...PLAIN, algorithm }, hmac("{ }", SECRET, name))).toBe("no signature matches");
    expect(check({ ...PLAIN, algorithm }, hmac("{}", "another secret", name))).toBe("no signature matches");
    expect(check({ ...PLAIN, algorithm }, hmac("{}", SECRET, "md5"))).toBe("malformed signature");
  });

  it("may be written in hex of any case", () => {
    expect(check(PLAIN, hmac("{}").toUpperCase())).toBe(true);
  });

  it("may be written in base64url", () => {
    const sig = createHmac("sha256", SECRET).update("{}").digest("base64url");
    expect(check({ ...PLAIN, encoding: "base64url" }, sig)).toBe(true);
    expect(check({ ...PLAIN, encoding: "base64url" }, `${sig}=`)).toBe(true);
  });

  it("covers every byte of the body, also those that are no text", () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), (body, other) => {
        expect(check(PLAIN, hmac(body), { body })).toBe(true);
        fc.pre(Buffer.compare(body, other) !== 0);
        expect(check(PLAIN, hmac(body), { body: other })).toBe("no signature matches");
      }),
    );
  });

  it("is refused when any digit of it is another", () => {
    const sig = hmac("{}");
    fc.assert(
      fc.property(fc.nat(63), fc.nat(15), (at, value) => {
        const digit = value.toString(16);
        fc.pre(sig[at] !== digit);
        expect(check(PLAIN, sig.slice(0, at) + digit + sig.slice(at + 1))).toBe("no signature matches");
      }),
    );
  });

  it("is refused with anything else in the header, without a throw", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.constantFrom(PLAIN, TIMED, { ...PLAIN, separator: " " }),
        (sig, input) => {
          expect(check(input, sig)).toBeTypeOf("string");
        },
      ),
    );
  });

  it.each([100_000, 8_192, 8_193, 65])("is refused in a header of %i characters", (length) => {
    expect(check(PLAIN, "a".repeat(length))).toBe(length > 8_192 ? "the signature is too long" : "malformed signature");
  });
});

describe("several signatures and secrets", () => {
  const list: AuthInput = { ...PLAIN, separator: "," };

  it("match when any signature is that of any secret, in any order", () => {
    const secrets = ["one secret", "two secrets", "three secrets"];
    const wrong = fc.array(fc.constantFrom("00".repeat(32), "nothing", "ab"), { maxLength: 5 });
    fc.assert(
      fc.property(fc.constantFrom(...secrets), wrong, wrong, (secret, before, after) => {
        const sig = [...before, hmac("{}", secret), ...after].join(",");
        expect(check({ ...list, secret: secrets }, sig)).toBe(true);
        expect(check({ ...list, secret: secrets.filter((other) => other !== secret) }, sig)).toBe(
          "no signature matches",
        );
      }),
    );
  });

  it("match when a signature is there twice", () => {
    expect(check(list, `${hmac("{}")},${hmac("{}")}`)).toBe(true);
  });

  it("name the secret that matched, by an id that says nothing of it", () => {
    const input = { ...PLAIN, secret: ["old secret", "new secret"] };
    const idOf = (secret: string, route = "sender") => {
      const call = callOf({ headers: { sig: hmac("{}", secret) }, body: "{}" });
      const verified = verify(verifierOf(input, { route }), call);
      return verified.ok ? verified.credentialId : verified.reason;
    };
    expect(idOf("old secret")).toMatch(/^[0-9a-f]{16}$/);
    expect(idOf("new secret")).toMatch(/^[0-9a-f]{16}$/);
    expect(idOf("old secret")).not.toBe(idOf("new secret"));
    expect(idOf("old secret")).not.toBe(idOf("old secret", "other"));
    expect(idOf("third secret")).toBe("no signature matches");
  });
});

describe("a signed time", () => {
  it.each([
    [NOW_SECONDS, true],
    [NOW_SECONDS - 300, true],
    [NOW_SECONDS - 301, "timestamp is 301 seconds old"],
    [NOW_SECONDS + 30, true],
    [NOW_SECONDS + 31, "timestamp is 31 seconds in the future"],
    [`+${NOW_SECONDS}`, "malformed timestamp"],
    [`${NOW_SECONDS}.0`, "malformed timestamp"],
    ["1.7e9", "malformed timestamp"],
    ["", "malformed timestamp"],
    [-1, "malformed timestamp"],
  ])("of %s gives %s", (time, expected) => {
    expect(check(TIMED, timed(time))).toBe(expected);
  });

  it("cannot be changed", () => {
    expect(check(TIMED, timed(NOW_SECONDS).replace(`t=${NOW_SECONDS}`, `t=${NOW_SECONDS - 1}`))).toBe(
      "no signature matches",
    );
  });

  it("is missing when it is absent or present twice", () => {
    expect(check(TIMED, `v1=${hmac(".{}")}`)).toBe("timestamp is missing");
    expect(check(TIMED, `t=${NOW_SECONDS},${timed(NOW_SECONDS)}`)).toBe("timestamp is missing");
  });

  it("in a header of its own is refused when Node joined two of them", () => {
    const input: AuthInput = { ...PLAIN, content: "{timestamp}{body}", timestamp: { from: "header:ts" } };
    const sent = (ts: string) => check(input, "", { headers: { sig: hmac(`${ts}{}`), ts } });
    expect(sent(String(NOW_SECONDS))).toBe(true);
    expect(sent(`${NOW_SECONDS}, ${NOW_SECONDS}`)).toBe("malformed timestamp");
  });

  it("in the body is checked once the signature is verified", () => {
    const input: AuthInput = {
      ...PLAIN,
      timestamp: { from: "body:at", unit: "milliseconds", toleranceSeconds: 60 },
    };
    const sent = (body: string, secret = SECRET) => check(input, hmac(body, secret), { body });
    expect(sent(`{"at":${NOW - 60_000}}`)).toBe(true);
    expect(sent(`{"at":${NOW - 60_001}}`)).toBe("timestamp is 61 seconds old");
    expect(sent(`{"at":${NOW + 60_001}}`)).toBe("timestamp is 61 seconds in the future");
    expect(sent(`{"at":"soon"}`)).toBe("malformed timestamp");
    expect(sent("{}")).toBe("timestamp is missing");
    expect(sent("not JSON")).toBe("timestamp is missing");
    expect(sent("{}", "another secret")).toBe("no signature matches");
  });

  it("is checked before the signature otherwise, and the signature's form before the time", () => {
    expect(check(TIMED, `t=1,v1=${"00".repeat(32)}`)).toBe(`timestamp is ${NOW_SECONDS - 1} seconds old`);
    expect(check(TIMED, "t=1,v1=xyz")).toBe("malformed signature");
  });
});

describe("a plain digest", () => {
  const digest: AuthInput = { ...PLAIN, algorithm: "sha256", content: "{body}{secret}", secret: ["one", "two"] };

  it("of a content with the secret is verified, for any of the secrets", () => {
    const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
    expect(check(digest, sha256("{}one"))).toBe(true);
    expect(check(digest, sha256("{}two"))).toBe(true);
    expect(check(digest, sha256("{}"))).toBe("no signature matches");
    expect(check(digest, sha256("{}three"))).toBe("no signature matches");
    expect(check(digest, hmac("{}one", "one"))).toBe("no signature matches");
    expect(check({ ...digest, algorithm: "sha1" }, createHash("sha1").update("{}one").digest("hex"))).toBe(true);
  });

  it.each<[Partial<AuthInput>]>([[{ content: "{body}" }], [{ algorithm: "hmac-sha256" }]])(
    "and its secret need each other: %j is refused",
    (change) => {
      expect(() => verifierOf({ ...digest, ...change })).toThrow(
        new TypeError("auth.content must hold {secret} with the algorithms sha1 and sha256, and with no other."),
      );
    },
  );
});

describe("an algorithm that the request names", () => {
  const input: AuthInput = {
    ...PLAIN,
    algorithm: { from: "header:algo", values: { one: "hmac-sha1", two: "hmac-sha256" } },
  };
  const sent = (algo: string | undefined, sig: string) =>
    check(input, "", { headers: algo === undefined ? { sig } : { sig, algo } });

  it("is one of a closed list", () => {
    expect(sent("one", hmac("{}", SECRET, "sha1"))).toBe(true);
    expect(sent("two", hmac("{}"))).toBe(true);
    expect(sent("one", hmac("{}"))).toBe("malformed signature");
  });

  it.each([undefined, "", "three", "hmac-sha256", "toString", "__proto__", "ONE"])(
    "is refused when it is %j",
    (algo) => {
      expect(sent(algo, hmac("{}"))).toBe("the algorithm is missing or not allowed");
    },
  );

  it("is refused at load when the list mixes kinds of keys, or is empty", () => {
    const load = (values: Record<string, "hmac-sha256" | "rsa-sha256" | "ed25519" | "sha256">) => () =>
      verifierOf({ ...PLAIN, algorithm: { from: "header:algo", values } });
    const mixed = new TypeError("auth.algorithm.values must be of one kind: their keys differ.");
    expect(load({ a: "hmac-sha256", b: "rsa-sha256" })).toThrow(mixed);
    expect(load({ a: "rsa-sha256", b: "ed25519" })).toThrow(mixed);
    expect(load({ a: "hmac-sha256", b: "sha256" })).toThrow(mixed);
    expect(load({})).toThrow(new TypeError("auth.algorithm.values names no algorithm."));
  });
});

describe("a scheme that could never verify anything", () => {
  const pairs = new TypeError(
    "pair:<key> is a part of the signature's header; auth.from names the header, and auth.pair the key of the signature.",
  );

  it.each<[Partial<AuthInput>, TypeError]>([
    [{ from: [] }, new TypeError("auth.from is missing: it says where the signature stands.")],
    [{ from: "pair:v1", pair: "v1" }, pairs],
    [{ from: ["header:a", "pair:v1"], pair: "v1" }, pairs],
    [{ content: "{timestamp}", timestamp: { from: "pair:t" } }, pairs],
    [{ content: "{id}", id: "pair:t" }, pairs],
    [{ content: "{pair:t}{body}" }, pairs],
    [{ secret: [] }, new TypeError("auth.secret is missing.")],
    [
      { certificate: { from: "header:c", hosts: ["x.example"] } },
      new TypeError("auth.certificate has no use: the algorithm takes a shared secret."),
    ],
  ])("is refused at load: %j", (change, error) => {
    expect(() => verifierOf({ ...PLAIN, ...change })).toThrow(error);
  });
});
