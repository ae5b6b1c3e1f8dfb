import { describe, expect, it } from "vitest";
import { parse } from "../../../../src/ingress/stages/parse.ts";
import { VerifiedRequest } from "../../../../src/ingress/stages/verify.ts";
import { CREDENTIAL, rawRequest, verifiedRequest } from "./stage-bench.ts";

describe("verify", () => {
  it("adds the credential, and leaves the exact bytes and everything else", () => {
    const changes = { headers: { "x-a": "1" }, query: { b: "2" }, body: Buffer.from('{"text": "a"}') };
    const raw = rawRequest("wake", "", changes);
    const verified = verifiedRequest("wake", "", changes);
    expect(verified).toEqual({ ...raw, credential: CREDENTIAL, replay: undefined });
    expect(verified.body).toBe(changes.body);
  });
});

function structuredCopy<Copied extends object>(value: Copied): Pick<Copied, keyof Copied> {
  return Object.assign({} as Pick<Copied, keyof Copied>, value);
}

describe("VerifiedRequest", () => {
  const raw = rawRequest("wake", '{"text":"a"}');

  it("is made by its module alone: the compiler refuses a literal, a copy and a call of the constructor", () => {
    const options = { accept: [], maxDepth: 64 } as const;
    // @ts-expect-error: a raw request with a credential is not a verified one.
    expect(parse({ ...raw, credential: CREDENTIAL, replay: undefined }, options)).toHaveProperty("context");
    // @ts-expect-error: a copy has lost the proof.
    expect(parse(structuredCopy(verifiedRequest("wake", '{"text":"a"}')), options)).toHaveProperty("context");
    // @ts-expect-error: the constructor is private.
    expect(new VerifiedRequest(raw, CREDENTIAL, undefined)).toBeInstanceOf(VerifiedRequest);
  });
});
