import { describe, expect, test } from "vitest";
import { compileWithoutCredentials } from "../../../src/http/credentials.ts";
import { exchange, listen } from "./wire.ts";

const withoutCredentials = compileWithoutCredentials(["x-our-carrier"]);

describe("headers without credentials", () => {
  test("keep what identifies and signs a call, and lose what authorizes it", () => {
    const kept = withoutCredentials({
      host: "localhost",
      "content-type": "application/json",
      "x-github-event": "push",
      "x-hub-signature-256": "sha256=00",
      "idempotency-key": "k1",
      authorization: "Bearer t",
      "proxy-authorization": "Basic t",
      cookie: "session=t",
      "set-cookie": ["a=t"],
      "x-service-token": "t",
      "x-openclaw-token": "t",
      "x-gitlab-token": "t",
      "x-telegram-bot-api-secret-token": "t",
      "x-hook-secret": "t",
      "x-api-key": "t",
      "x-auth-token": "t",
      "x-amz-security-token": "t",
      "x-our-carrier": "t",
    });
    expect({ ...kept }).toEqual({
      host: "localhost",
      "content-type": "application/json",
      "x-github-event": "push",
      "x-hub-signature-256": "sha256=00",
      "idempotency-key": "k1",
    });
  });

  test("have no prototype, and names of Object.prototype are names like any other", () => {
    const kept = withoutCredentials({ constructor: "a", tostring: "b" });
    expect(Object.getPrototypeOf(kept)).toBeNull();
    expect(Object.entries(kept)).toEqual([
      ["constructor", "a"],
      ["tostring", "b"],
    ]);
  });

  test("join lists and leave out what is undefined", () => {
    expect({ ...withoutCredentials({ "x-list": ["a", "b"], "x-none": undefined }) }).toEqual({ "x-list": "a, b" });
  });

  test("are a copy", () => {
    const given = { host: "a" };
    const kept = withoutCredentials(given);
    given.host = "b";
    expect(kept["host"]).toBe("a");
  });

  test("are 100 at most", () => {
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`x-${index}`, "v"]));
    const kept = withoutCredentials({ authorization: "Bearer t", ...many });
    expect(Object.keys(kept)).toHaveLength(100);
    expect(kept["x-99"]).toBe("v");
  });

  test("take 16,384 characters at most, and what does not fit is left out whole", () => {
    const kept = withoutCredentials({ a: "x".repeat(16_380), big: "y", b: "z", c: "1" });
    expect(Object.keys(kept)).toEqual(["a", "b"]);
  });

  test("judge names the same after hundreds of others", () => {
    for (let index = 0; index < 2000; index++) {
      const kept = withoutCredentials({ [`x-a-${index}`]: "v", [`x-token-${index}`]: "t" });
      expect({ ...kept }).toEqual({ [`x-a-${index}`]: "v" });
    }
    expect({ ...withoutCredentials({ "x-our-carrier": "t", "x-a-1999": "v" }) }).toEqual({ "x-a-1999": "v" });
  });

  test("join repeated headers of a real request with a comma, names in lower case", async () => {
    const seen: Record<string, string>[] = [];
    const server = await listen((req, res) => {
      seen.push({ ...withoutCredentials(req.headers) });
      res.end();
    });
    const lines = ["POST / HTTP/1.1", "Host: x", "Connection: close", "X-Tag: a", "x-tag: b", "__proto__: c"];
    await exchange(server.port, [...lines, "Authorization: Bearer t", "Content-Length: 0", "", ""].join("\r\n"));
    await server.close();
    expect(seen[0]).toMatchObject({ host: "x", "x-tag": "a, b" });
    expect(seen[0]).not.toHaveProperty("authorization");
  });
});
