import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { AuthInput } from "../../../../src/config/auth/schema.ts";
import { callOf, outcome, PUBLIC_URL, verifierOf, verify } from "./scheme-bench.ts";

const INPUT: AuthInput = { from: "header:sig", secret: "a secret", content: "{url}{body}", anyPort: true };
const signed = (text: string) => createHmac("sha256", "a secret").update(text).digest("hex");

/** Verifies a request to `/x?a=1` whose sender signed a URL. */
function check(url: string, { input = INPUT, publicUrl = PUBLIC_URL }: { input?: AuthInput; publicUrl?: string } = {}) {
  const call = callOf({ headers: { sig: signed(`${url}{}`) }, target: "/x?a=1", body: "{}" });
  return verify(verifierOf(input, { publicUrl }), call);
}

describe("a URL that is signed", () => {
  it.each([`${PUBLIC_URL}/x?a=1`, `${PUBLIC_URL}:443/x?a=1`])("may be %s when any port will do", (url) => {
    expect(outcome(check(url))).toBe(true);
  });

  it.each([
    `${PUBLIC_URL}:80/x?a=1`,
    `${PUBLIC_URL}/x`,
    `${PUBLIC_URL}/x?a=2`,
    "http://gateway.example.com/x?a=1",
    "https://other.example.com/x?a=1",
  ])("may not be %s", (url) => {
    expect(outcome(check(url))).toBe("no signature matches");
  });

  it("is the configured one when nothing is said of ports", () => {
    const input = { ...INPUT, anyPort: false };
    expect(outcome(check(`${PUBLIC_URL}/x?a=1`, { input }))).toBe(true);
    expect(outcome(check(`${PUBLIC_URL}:443/x?a=1`, { input }))).toBe("no signature matches");
  });

  it("may be without the port that is configured", () => {
    const publicUrl = `${PUBLIC_URL}:8443`;
    expect(outcome(check(`${PUBLIC_URL}:8443/x?a=1`, { publicUrl }))).toBe(true);
    expect(outcome(check(`${PUBLIC_URL}/x?a=1`, { publicUrl }))).toBe(true);
  });

  it("must be configured", () => {
    const message = "auth.content signs {url}; set hooks.publicUrl to the URL that the sender calls.";
    expect(() => verifierOf(INPUT, { publicUrl: undefined })).toThrow(new TypeError(message));
  });

  it("leaves the replay key of the request as it was signed", () => {
    const marks = [`${PUBLIC_URL}/x?a=1`, `${PUBLIC_URL}:443/x?a=1`].map((url) => check(url));
    expect(marks[0]).toMatchObject({ ok: true });
    expect(marks[0]).not.toEqual(marks[1]);
    expect(marks[0]).toEqual(check(`${PUBLIC_URL}/x?a=1`));
  });

  it("is not needed, whatever is said of ports, where it is not signed", () => {
    const input = { ...INPUT, content: "{body}" };
    const call = callOf({ headers: { sig: signed("{}") }, body: "{}" });
    expect(outcome(verify(verifierOf(input, { publicUrl: undefined }), call))).toBe(true);
  });
});

describe("Twilio", () => {
  const twilio: AuthInput = {
    from: "header:x-twilio-signature",
    encoding: "base64",
    algorithm: "hmac-sha1",
    content: "{url}{form}",
    bodyDigest: { from: "query:bodySHA256", algorithm: "sha256", encoding: "hex" },
    anyPort: true,
    secret: "12345",
  };

  /** The example of Twilio's own documentation and tests. */
  const form = "CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212";
  const publicUrl = "https://mycompany.com";
  const send = (body: string, sig: string, type = "application/x-www-form-urlencoded") =>
    outcome(
      verify(
        verifierOf(twilio, { publicUrl }),
        callOf({
          headers: { "x-twilio-signature": sig, "content-type": type },
          target: "/myapp.php?foo=1&bar=2",
          body,
        }),
      ),
    );

  it("verifies the published example", () => {
    expect(send(form, "RSOYDt4T1cUTdK1PDd93/VVr8B8=")).toBe(true);
    expect(send(form.replace("1234&", "1235&"), "RSOYDt4T1cUTdK1PDd93/VVr8B8=")).toBe("no signature matches");
  });

  it("does not take a signed form's signature for another body", () => {
    expect(send('{"a":1}', "RSOYDt4T1cUTdK1PDd93/VVr8B8=", "application/json")).toBe(
      "the digest of the body is missing",
    );
  });
});
