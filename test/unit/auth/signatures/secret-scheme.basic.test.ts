import { describe, expect, it } from "vitest";
import type { AuthInput } from "../../../../src/config/auth/schema.ts";
import { callOf, outcome, verifierOf, verify } from "./scheme-bench.ts";

const INPUT: AuthInput = { scheme: "basic", secret: ["aladdin:open sesame", "user:p:w"] };
const base64 = (text: string) => Buffer.from(text).toString("base64");
const check = (authorization: string | undefined, input = INPUT) =>
  outcome(verify(verifierOf(input), callOf({ headers: authorization === undefined ? {} : { authorization } })));

describe("user name and password", () => {
  it.each([
    "Basic YWxhZGRpbjpvcGVuIHNlc2FtZQ==",
    "basic YWxhZGRpbjpvcGVuIHNlc2FtZQ==",
    "BASIC   YWxhZGRpbjpvcGVuIHNlc2FtZQ",
    `Basic ${base64("user:p:w")}`,
  ])("are right in %j", (authorization) => {
    expect(check(authorization)).toBe(true);
  });

  it("may be a name of its own and a password", () => {
    const input: AuthInput = { scheme: "basic", username: "jürgen", secret: "größe" };
    expect(check(`Basic ${base64("jürgen:größe")}`, input)).toBe(true);
    expect(check(`Basic ${Buffer.from("jürgen:größe", "latin1").toString("base64")}`, input)).toBe(
      "no user name and password matches",
    );
  });

  it.each([
    "aladdin:",
    "aladdin",
    ":open sesame",
    "aladdin:open sesame ",
    "Aladdin:open sesame",
    "user:p",
    "user:p:w:",
  ])("are wrong when they are %j", (login) => {
    expect(check(`Basic ${base64(login)}`)).toBe("no user name and password matches");
  });

  it.each([
    "",
    "Basic",
    "Basic ",
    "Bearer YWxhZGRpbjpvcGVuIHNlc2FtZQ==",
    "YWxhZGRpbjpvcGVuIHNlc2FtZQ==",
    "BasicYWxhZGRpbjpvcGVuIHNlc2FtZQ==",
    "Basic YWxhZGRpbjpvcGVuIHNlc2FtZQ==, Basic x",
    "Basic YWxhZGRpbjpvcGVuIHNlc2FtZQ===",
    "Basic YWxhZGRpbjpvcGVuIHNlc2FtZR==",
    "Basic aladdin:open sesame",
    "xBasic YWxhZGRpbjpvcGVuIHNlc2FtZQ==",
    `Basic ${"A".repeat(8_188)}`,
  ])("are malformed in %j", (authorization) => {
    expect(check(authorization)).toBe("malformed user name and password");
  });

  it("are read up to 8,192 characters", () => {
    expect(check(`Basic ${"A".repeat(8_184)}`)).toBe("no user name and password matches");
  });

  it("say when they are missing", () => {
    expect(check(undefined)).toBe("header authorization is missing");
  });

  it("have ids of their own and leave no trace", () => {
    const verifier = verifierOf(INPUT);
    const [one, other] = ["aladdin:open sesame", "user:p:w"].map((login) =>
      verifier.verify(callOf({ headers: { authorization: `Basic ${base64(login)}` } })),
    );
    expect(one).toEqual({ ok: true, credentialId: expect.stringMatching(/^[0-9a-f]{16}$/) as string });
    expect(other).toMatchObject({ ok: true });
    expect(other).not.toEqual(one);
  });

  it("are refused at load when they are none", () => {
    expect(() => verifierOf({ scheme: "basic" })).toThrow(new TypeError("auth.secret is missing."));
    expect(() => verifierOf({ scheme: "basic", secret: "no colon" })).toThrow(
      new TypeError("auth.secret of basic must be <user>:<password>."),
    );
  });
});
