import { describe, expect, it } from "vitest";
import { markVerified } from "../../../../src/ingress/stages/verify.ts";
import { CREDENTIAL, rawRequest } from "./stage-bench.ts";

describe("verify", () => {
  it("adds who vouches for the request, and leaves the exact bytes and everything else", () => {
    const raw = rawRequest("wake", '{"text": "a"}', { headers: { "x-a": "1" }, query: { b: "2" } });
    const request = markVerified(raw, CREDENTIAL);
    expect(request).toEqual({ ...raw, credential: CREDENTIAL, replay: undefined });
    expect(request.body).toBe(raw.body);
    expect(raw).not.toHaveProperty("credential");
  });
});
