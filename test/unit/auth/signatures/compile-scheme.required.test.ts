import { describe, expect, it } from "vitest";
import { normalizeAuth } from "../../../../src/config/auth/read.ts";
import type { AuthConfig } from "../../../../src/config/auth/schema.ts";
import { withRequiredValues } from "../../../../src/auth/signatures/compile-scheme.ts";
import type { IncomingRequest, SchemeVerifier, Verification } from "../../../../src/auth/verifier.ts";

const GOOD: Verification = { ok: true, credentialId: "key-1" };

function authWith(require: Record<string, string | string[]>): AuthConfig {
  return normalizeAuth({ scheme: "basic", require }, ["user:password"])!;
}

const call = (body: string, headers: IncomingRequest["headers"] = {}): IncomingRequest => ({
  method: "POST",
  target: "/hooks/in?plan=a",
  headers: { "content-type": "application/json", ...headers },
  body: Buffer.from(body),
  receivedAt: 0,
  pathSecret: undefined,
});

const always = (verification: Verification | Promise<Verification>): SchemeVerifier => ({ verify: () => verification });

describe("what a verified request must hold", () => {
  const auth = authWith({ "body:topic": ["alerts", "bills"], "header:x-account": "7", "query:plan": "a" });

  it("is one of the texts at each place", () => {
    const verifier = withRequiredValues(always(GOOD), auth);
    expect(verifier.verify(call('{"topic":"bills"}', { "x-account": "7" }))).toBe(GOOD);
    expect(verifier.verify(call('{"topic":"bill"}', { "x-account": "7" }))).toEqual({
      ok: false,
      reason: "body:topic is none that is required",
    });
    expect(verifier.verify(call('{"topic":"alerts"}'))).toEqual({
      ok: false,
      reason: "header:x-account is none that is required",
    });
    expect(verifier.verify(call("not JSON", { "x-account": "7" }))).toMatchObject({ ok: false });
  });

  it("is checked only once the scheme has verified the request, at once or later", async () => {
    const refused: Verification = { ok: false, reason: "no signature matches" };
    expect(withRequiredValues(always(refused), auth).verify(call("{}"))).toBe(refused);
    const later = withRequiredValues(always(Promise.resolve(GOOD)), auth);
    expect(await later.verify(call('{"topic":"alerts"}', { "x-account": "7" }))).toBe(GOOD);
    expect(await later.verify(call("{}"))).toMatchObject({ ok: false });
  });

  it("is nothing unless it is configured: the verifier stays as it is", () => {
    const verifier = always(GOOD);
    expect(withRequiredValues(verifier, normalizeAuth({ scheme: "basic" }, ["user:password"])!)).toBe(verifier);
  });
});
