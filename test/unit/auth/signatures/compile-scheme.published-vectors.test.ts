import { describe, expect, it } from "vitest";
import type { AuthInput } from "../../../../src/config/auth/schema.ts";
import { callOf, outcome, verifierOf, verify } from "./scheme-bench.ts";

const GITHUB: AuthInput = {
  from: "header:x-hub-signature-256",
  prefix: "sha256=",
  secret: "It's a Secret to Everybody",
};

describe("the vector that GitHub publishes", () => {
  const signature = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
  const githubCall = (value: string, body = "Hello, World!") =>
    callOf({ headers: { "x-hub-signature-256": value }, body });

  it("verifies", () => {
    expect(outcome(verify(verifierOf(GITHUB), githubCall(`sha256=${signature}`)))).toBe(true);
  });

  it("does not verify another body", () => {
    expect(outcome(verify(verifierOf(GITHUB), githubCall(`sha256=${signature}`, "Hello, World?")))).toBe(
      "no signature matches",
    );
  });

  it.each([
    ["without its prefix", signature],
    ["with the prefix of SHA-1", `sha1=${signature}`],
    ["without its last digit", `sha256=${signature.slice(0, -1)}`],
    ["without its last byte", `sha256=${signature.slice(0, -2)}`],
    ["with a byte more", `sha256=${signature}00`],
    ["when it is empty", "sha256="],
  ])("is malformed %s", (_, value) => {
    expect(outcome(verify(verifierOf(GITHUB), githubCall(value)))).toBe("malformed signature");
  });
});

it("verifies the vector of octokit's own tests", () => {
  const verifier = verifierOf({ ...GITHUB, secret: "mysecret" });
  const value = "sha256=4864d2759938a15468b5df9ade20bf161da9b4f737ea61794142f3484236bda3";
  expect(outcome(verify(verifier, callOf({ headers: { "x-hub-signature-256": value }, body: '{"foo":"bar"}' })))).toBe(
    true,
  );
});

describe("the vector that Slack publishes", () => {
  const slack = verifierOf({
    from: "header:x-slack-signature",
    prefix: "v0=",
    content: "v0:{timestamp}:{body}",
    timestamp: { from: "header:x-slack-request-timestamp" },
    secret: "8f742231b10e8888abcd99yyyzzz85a5",
  });
  const body =
    "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
  const slackCall = (receivedAt: number, timestamp = "1531420618") =>
    callOf({
      headers: {
        "x-slack-request-timestamp": timestamp,
        "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
      },
      body,
      receivedAt,
    });

  it("verifies at its time", () => {
    expect(outcome(verify(slack, slackCall(1_531_420_618_000)))).toBe(true);
  });

  it("does not verify with the time of another second", () => {
    expect(outcome(verify(slack, slackCall(1_531_420_618_000, "1531420619")))).toBe("no signature matches");
  });

  it("does not verify years later", () => {
    expect(outcome(verify(slack, slackCall(1_731_420_618_000)))).toBe("timestamp is 200000000 seconds old");
  });
});

describe("the vector of Standard Webhooks", () => {
  const input: AuthInput = {
    from: "header:webhook-signature",
    prefix: "v1,",
    separator: " ",
    encoding: "base64",
    keyEncoding: "whsec",
    content: "{id}.{timestamp}.{body}",
    id: "header:webhook-id",
    timestamp: { from: "header:webhook-timestamp" },
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  };
  const standard = verifierOf(input);
  const signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
  const signedAt = 1_614_265_330_000;
  const standardCall = (value: string, receivedAt = signedAt, headers: Record<string, string> = {}) =>
    callOf({
      headers: {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": value,
        ...headers,
      },
      body: '{"test": 2432232314}',
      receivedAt,
    });

  it.each([
    ["alone", signature],
    ["behind others", `v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc= v2,Zm9v ${signature}`],
    ["before others", `${signature} v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=`],
    ["beside an entry without a comma", `v1 ${signature} nothing`],
    ["beside a signature of the version v1a", `v1a,${"A".repeat(86)}== ${signature}`],
    ["without padding", signature.slice(0, -1)],
  ])("verifies %s", (_, value) => {
    expect(outcome(verify(standard, standardCall(value)))).toBe(true);
  });

  it("verifies with the secret's prefix left out", () => {
    const verifier = verifierOf({ ...input, secret: "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" });
    expect(outcome(verify(verifier, standardCall(signature)))).toBe(true);
  });

  it.each([
    ["the version alone", "v1,"],
    ["the version without a comma", "v1"],
    ["a prefix of the signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE"],
    ["the signature as another version", signature.replace("v1", "v2")],
    ["the signature without a version", signature.slice(3)],
    ["nothing", ""],
    ["a signature with trailing bits that no byte is made of", signature.replace("OE=", "OF=")],
  ])("takes %s for malformed", (_, value) => {
    expect(outcome(verify(standard, standardCall(value)))).toBe("malformed signature");
  });

  it.each([
    [300, true],
    [301, "timestamp is 301 seconds old"],
    [-300, true],
    [-301, "timestamp is 301 seconds in the future"],
  ])("with a clock that is %i seconds ahead gives %s", (seconds, expected) => {
    expect(outcome(verify(standard, standardCall(signature, signedAt + seconds * 1_000)))).toBe(expected);
  });

  it("refuses an id that the signed text could be cut at in another way", () => {
    const call = standardCall(signature, signedAt, { "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330" });
    expect(outcome(verify(standard, call))).toBe("the id is missing or malformed");
  });
});
