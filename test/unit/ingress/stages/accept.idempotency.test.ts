import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isRefusal } from "../../../../src/core/errors.ts";
import { readClaim } from "../../../../src/ingress/stages/accept.ts";
import type { ClaimedRequest } from "../../../../src/ingress/stages/accept.ts";
import type { IdempotencyClaim } from "../../../../src/storage/new-delivery.ts";

const TTL_MS = 86_400_000;
const HEADER = "idempotency-key";
const SERVICE_HEADER = "x-service-idempotency-key";

function requestOf(changes: Partial<ClaimedRequest> = {}): ClaimedRequest {
  return {
    headers: {},
    payloadKey: undefined,
    route: "agent",
    credentialId: "token-1",
    body: Buffer.from('{"message":"m"}'),
    receivedAt: 1_000,
    ...changes,
  };
}

const claimOf = (changes: Partial<ClaimedRequest>) => readClaim(requestOf(changes), TTL_MS);

/** What tells two claims apart; throws when there is no claim. */
function identity(changes: Partial<ClaimedRequest>): string {
  const claim = claimOf(changes);
  if (claim === undefined || isRefusal(claim)) throw new Error(`No claim: ${JSON.stringify(claim)}`);
  return Buffer.from(claim.key).toString("hex");
}

const withHeader = (key: string): Partial<ClaimedRequest> => ({ headers: { [HEADER]: key } });

describe("a claim", () => {
  it("is not made by a request without a key", () => {
    expect(claimOf({})).toBeUndefined();
    expect(claimOf({ payloadKey: null })).toBeUndefined();
  });

  it("is two digests of 32 bytes, and lapses so long after the request arrived as is configured", () => {
    const claim = claimOf(withHeader("k")) as IdempotencyClaim;
    expect(claim.key).toHaveLength(32);
    expect(claim.fingerprint).toHaveLength(32);
    expect(claim.expiresAt).toBe(1_000 + TTL_MS);
  });

  it("has the same key and fingerprint for the same request, whenever it comes", () => {
    const first = claimOf(withHeader("k")) as IdempotencyClaim;
    const second = claimOf({ ...withHeader("k"), receivedAt: 500_000 }) as IdempotencyClaim;
    expect(second.key).toEqual(first.key);
    expect(second.fingerprint).toEqual(first.fingerprint);
    expect(second.expiresAt).toBe(500_000 + TTL_MS);
  });

  it("has another fingerprint for another body, byte for byte", () => {
    const first = claimOf(withHeader("k")) as IdempotencyClaim;
    const second = claimOf({ ...withHeader("k"), body: Buffer.from('{"message": "m"}') }) as IdempotencyClaim;
    expect(second.key).toEqual(first.key);
    expect(second.fingerprint).not.toEqual(first.fingerprint);
  });

  it("is scoped to its route and to its credential", () => {
    const here = identity(withHeader("k"));
    expect(identity({ ...withHeader("k"), route: "github" })).not.toBe(here);
    expect(identity({ ...withHeader("k"), credentialId: "token-2" })).not.toBe(here);
    expect(identity(withHeader("k2"))).not.toBe(here);
  });

  it("cannot be moved into another scope by what a route or a key looks like", () => {
    const parts = fc.tuple(
      fc.string(),
      fc.string(),
      fc.stringMatching(/^[!-~]{1,6}$/).filter((key) => !key.includes('"')),
    );
    fc.assert(
      fc.property(parts, parts, ([route, credentialId, key], [otherRoute, otherId, otherKey]) => {
        const same = route === otherRoute && credentialId === otherId && key === otherKey;
        const left = identity({ ...withHeader(key), route, credentialId });
        const right = identity({ ...withHeader(otherKey), route: otherRoute, credentialId: otherId });
        expect(left === right).toBe(same);
      }),
    );
  });
});

describe("the key of a claim", () => {
  it("is that of OpenClaw's callers where they send none of ours, and goes before the payload's", () => {
    const theirs = { headers: { "x-openclaw-idempotency-key": "d" }, payloadKey: "c" };
    expect(identity(theirs)).toBe(identity(withHeader("d")));
    expect(identity({ ...theirs, headers: { ...theirs.headers, [SERVICE_HEADER]: "b" } })).toBe(
      identity(withHeader("b")),
    );
  });

  it("is that of Idempotency-Key before that of x-service-idempotency-key before the payload's", () => {
    const all = { headers: { [HEADER]: "a", [SERVICE_HEADER]: "b" }, payloadKey: "c" };
    expect(identity(all)).toBe(identity(withHeader("a")));
    expect(identity({ ...all, headers: { [SERVICE_HEADER]: "b" } })).toBe(identity(withHeader("b")));
    expect(identity({ ...all, headers: {} })).toBe(identity(withHeader("c")));
  });

  it.each(["", " ", "\t", '""', ' "" ', '" "'])(
    "counts as absent in a header that holds %j, so the next is asked",
    (blank) => {
      const next = identity(withHeader("b"));
      expect(identity({ headers: { [HEADER]: blank, [SERVICE_HEADER]: "b" } })).toBe(next);
      expect(identity({ headers: { [HEADER]: blank, [SERVICE_HEADER]: blank }, payloadKey: "b" })).toBe(next);
      expect(claimOf(withHeader(blank))).toBeUndefined();
    },
  );

  it.each(["", "  "])("counts as absent in a payload that holds %j", (payloadKey) => {
    expect(claimOf({ payloadKey })).toBeUndefined();
  });

  it("is the same in quotes, as the draft writes it, and without", () => {
    const key = "8e03978e-40d5-43e8-bc93-6894a57f9324";
    expect(identity(withHeader(`"${key}"`))).toBe(identity(withHeader(key)));
    expect(identity(withHeader(` "${key}" `))).toBe(identity(withHeader(key)));
  });

  it.each(['"open', 'closed"', 'a"b', '"'])("keeps quotes that are no pair around it: %s", (key) => {
    expect(identity(withHeader(key))).not.toBe(identity(withHeader(key.replaceAll('"', "") || "x")));
  });

  it("is trimmed in the payload too, where quotes are its own", () => {
    expect(identity({ payloadKey: " k " })).toBe(identity({ payloadKey: "k" }));
    expect(identity({ payloadKey: '"k"' })).not.toBe(identity({ payloadKey: "k" }));
  });

  it("may have 256 visible characters, and spaces between them", () => {
    expect(identity(withHeader("k".repeat(256)))).toMatch(/^[0-9a-f]{64}$/);
    expect(identity(withHeader("order 17, try 2"))).toMatch(/^[0-9a-f]{64}$/);
    expect(identity(withHeader("~"))).toMatch(/^[0-9a-f]{64}$/);
  });

  const refusal = { refused: "INVALID_IDEMPOTENCY_KEY", message: undefined, retryAfterSeconds: undefined };

  it.each([
    ["of 257 characters", "k".repeat(257)],
    ["of 257 characters in quotes", `"${"k".repeat(257)}"`],
    ["with a control character", "a\u0001b"],
    ["with a tab", "a\tb"],
    ["outside ASCII", "schlüssel"],
    ["with a delete character", "a\u007f"],
  ])("spec 7: is refused %s, never quietly dropped", (_case, key) => {
    expect(claimOf(withHeader(key))).toEqual(refusal);
    expect(claimOf({ headers: { [SERVICE_HEADER]: key } })).toEqual(refusal);
  });

  it.each([[7], [true], [{ k: 1 }], [["k"]], ["k\n1"], ["k".repeat(257)]])(
    "spec 7: is refused in a payload when it is no such string: %#",
    (payloadKey) => {
      expect(claimOf({ payloadKey })).toEqual(refusal);
    },
  );

  it("is not looked for in a payload when a header has one", () => {
    expect(identity({ ...withHeader("k"), payloadKey: 7 })).toBe(identity(withHeader("k")));
  });
});
