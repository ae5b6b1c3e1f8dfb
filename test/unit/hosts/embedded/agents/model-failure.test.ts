import { describe, expect, it } from "vitest";
import { EndpointStatusError } from "../../../../../src/hosts/embedded/agents/completion-event.ts";
import { describeModelFailure } from "../../../../../src/hosts/embedded/agents/model-failure.ts";

const model = {
  providerId: "local",
  modelId: "m",
  provider: { baseUrl: "http://127.0.0.1:1", apiKey: "key-1", headers: { a: "key-1-longer", b: "x" } },
};

function withCode(code: string): Error {
  return Object.assign(new Error("inner"), { code });
}

describe("describeModelFailure", () => {
  it.each(["ECONNREFUSED", "ECONNRESET", "EAI_AGAIN", "EPIPE", "ETIMEDOUT"])(
    "finds %s among the causes and lets the request be sent again",
    (code) => {
      const error = new Error("fetch failed", { cause: new Error("deeper", { cause: withCode(code) }) });
      expect(describeModelFailure(error, model)).toEqual({
        message: `The model endpoint of the provider "local" could not be reached or broke the connection (${code}).`,
        retryable: true,
      });
    },
  );

  it.each(["CERT_HAS_EXPIRED", "ERR_INVALID_URL"])("does not let a request be sent again after %s", (code) => {
    expect(describeModelFailure(withCode(code), model)).toMatchObject({ retryable: false });
  });

  it("passes over a code that is not one of the system's", () => {
    expect(describeModelFailure(withCode("<script>"), model).message).toBe(
      'The model endpoint of the provider "local" failed: inner.',
    );
  });

  it("ends on causes that form a ring", () => {
    const first = new Error("first");
    first.cause = new Error("second", { cause: first });
    expect(describeModelFailure(first, model).message).toContain("failed: first.");
  });

  it("hides the longer of two secrets that begin alike, and leaves text that only looks short", () => {
    const { message } = describeModelFailure(new Error("got key-1-longer, key-1 and x"), model);
    expect(message).toContain("failed: got [redacted], [redacted] and x.");
  });

  it("words an answer without a body that could not be read", () => {
    const error = new EndpointStatusError(502, "");
    expect(describeModelFailure(error, model)).toEqual({
      message: 'The model endpoint of the provider "local" answered 502.',
      retryable: true,
    });
  });

  it.each([
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    "Your input exceeds the context window of this model.",
    "prompt is too long: 200082 tokens > 200000 maximum",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "the request exceeds the available context size, try increasing it",
    "Request too large for model `llama` on tokens per minute (TPM): Limit 6000, Requested 12000",
    "Please reduce the length of the messages or completion.",
  ])("knows that a request was too long: %s", (words) => {
    expect(describeModelFailure(new EndpointStatusError(400, words), model).isTooLong).toBe(true);
  });

  it.each(["Rate limit reached on tokens per min (TPM): Limit 30000, Used 28000, Requested 4000.", "invalid model"])(
    "does not take another refusal for that: %s",
    (words) => {
      expect(describeModelFailure(new EndpointStatusError(429, words), model)).not.toHaveProperty("isTooLong");
    },
  );

  it("takes a limit of tokens in a time for one that passes, and a single request that is over it for too long", () => {
    const of = (words: string) => describeModelFailure(new EndpointStatusError(429, words), model);
    for (const words of ["Too many tokens, please wait before trying again.", "Usage exceeds the limit of tokens."]) {
      expect(of(words)).toMatchObject({ retryable: true });
      expect(of(words)).not.toHaveProperty("isTooLong");
    }
    expect(of("Request too large for m on tokens per min (TPM).")).toMatchObject({ isTooLong: true });
  });
});
