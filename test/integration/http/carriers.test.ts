import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WireRequest } from "./http-connection.ts";
import { AUTHORIZED, HOOK_TOKEN, RunningGateway } from "./running-gateway.ts";

const SECOND_TOKEN = "second-token-of-the-http-tests-ü";
const WAKE = JSON.stringify({ text: "x", mode: "next-heartbeat" });

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await RunningGateway.start({
    hooks: { token: [HOOK_TOKEN, SECOND_TOKEN], tokenHeader: "X-Acme-Token", lockout: { failures: 1_000 } },
  });
});
afterAll(() => gateway[Symbol.asyncDispose]());

/** A wake with these header lines. */
function wake(...headers: string[]): WireRequest {
  return { headers, body: WAKE };
}

describe("the carriers of the hook token", () => {
  it.each([
    ["spec 5.2: Authorization: Bearer <HOOK_TOKEN>", [AUTHORIZED]],
    ["the scheme in any case and blanks around the token", [`authorization:  bEARER \t ${HOOK_TOKEN} \t`]],
    ["the configured header", [`X-Acme-Token: ${HOOK_TOKEN}`]],
    ["the configured header in any case, with blanks", [`x-acme-TOKEN:  ${HOOK_TOKEN} `]],
    ["the configured header beside another scheme", ["Authorization: Basic eDp5", `x-acme-token: ${HOOK_TOKEN}`]],
    ["the configured header beside an empty bearer", ["Authorization: Bearer  ", `x-acme-token: ${HOOK_TOKEN}`]],
    ["a right bearer beside a wrong header", [AUTHORIZED, "x-acme-token: wrong"]],
  ])("let a request in with %s", async (_case, headers) => {
    expect((await gateway.send(wake(...headers))).status).toBe(200);
  });

  it("let a request in with any of several tokens, as their UTF-8 bytes", async () => {
    const wire = Buffer.from(SECOND_TOKEN).toString("latin1");
    expect((await gateway.send(wake(`Authorization: Bearer ${wire}`))).status).toBe(200);
    expect((await gateway.send(wake(`x-acme-token: ${wire}`))).status).toBe(200);
    // The same characters in another encoding are other bytes.
    expect((await gateway.send(wake(`x-acme-token: ${SECOND_TOKEN}`))).status).toBe(401);
  });

  it("spec 5.2: x-service-token is the header where none is configured", async () => {
    await using plain = await RunningGateway.start();
    expect((await plain.send(wake(`x-service-token: ${HOOK_TOKEN}`))).status).toBe(200);
    expect((await plain.send(wake(`x-acme-token: ${HOOK_TOKEN}`))).status).toBe(401);
    expect((await gateway.send(wake(`x-service-token: ${HOOK_TOKEN}`))).status).toBe(401);
  });
});

/** Every way in which a request can fail to authenticate. */
const FAILURES: [string, WireRequest][] = [
  ["no credential", wake()],
  ["a wrong bearer", wake("Authorization: Bearer wrong")],
  [
    "a wrong bearer that a right header does not rescue",
    wake("Authorization: Bearer wrong", `x-acme-token: ${HOOK_TOKEN}`),
  ],
  ["a bearer without a token", wake("Authorization: Bearer")],
  ["an empty Authorization header", wake("Authorization:")],
  ["the token under another scheme", wake(`Authorization: Basic ${HOOK_TOKEN}`)],
  ["the token without a scheme", wake(`Authorization: ${HOOK_TOKEN}`)],
  ["the token with something behind it", wake(`${AUTHORIZED}x`)],
  ["the token cut by a character", wake(AUTHORIZED.slice(0, -1))],
  ["the token in other letters", wake(`Authorization: Bearer ${HOOK_TOKEN.toUpperCase()}`)],
  ["the token in quotes", wake(`Authorization: Bearer "${HOOK_TOKEN}"`)],
  ["the token twice", wake(`Authorization: Bearer ${HOOK_TOKEN} ${HOOK_TOKEN}`)],
  ["two Authorization headers, both right", wake(AUTHORIZED, AUTHORIZED)],
  ["two Authorization headers, the first right", wake(AUTHORIZED, "authorization: Bearer wrong")],
  ["two Authorization headers, the second right", wake("Authorization: Bearer wrong", AUTHORIZED)],
  [
    "two Authorization headers and a right token header",
    wake("Authorization: Basic a", "Authorization: Basic b", `x-acme-token: ${HOOK_TOKEN}`),
  ],
  ["the token header twice", wake(`x-acme-token: ${HOOK_TOKEN}`, `x-acme-token: ${HOOK_TOKEN}`)],
  ["the token in a cookie", wake(`Cookie: token=${HOOK_TOKEN}`)],
  ["the token in the body", { body: JSON.stringify({ token: HOOK_TOKEN, text: "x" }) }],
  ["the gateway's token", wake("Authorization: Bearer gateway-token-of-the-http-tests")],
  ["no credential and a path without a hook", { target: "/hooks/nothing", body: WAKE }],
  ["no credential and no name of a hook", { target: "/hooks", body: WAKE }],
  ["no credential and a body that is no JSON", { body: "{" }],
  ["no credential and a body that is too large", { headers: ["Content-Length: 9999999"] }],
  ["no credential and an unknown encoding", { headers: ["Content-Encoding: br"], body: WAKE }],
];

describe("a request that does not authenticate", () => {
  it.each(FAILURES)("spec 5.4: is answered 401 for %s", async (_case, request) => {
    expect((await gateway.send(request)).status).toBe(401);
  });

  it("is answered with one and the same body, byte for byte, whatever the cause", async () => {
    const answers = await Promise.all(FAILURES.map(([, request]) => gateway.send(request)));
    expect(new Set(answers.map(({ text }) => text))).toEqual(
      new Set([
        JSON.stringify({
          ok: false,
          error:
            "The request carries no valid credential; send Authorization: Bearer <hook token>, or sign it as this hook's sender does.",
          code: "UNAUTHORIZED",
        }),
      ]),
    );
    // Whether the connection stays depends on the body that was declared, and on nothing else.
    const heads = answers.map(({ raw }) => raw.replace(/\r\n(?:connection|keep-alive): [^\r]*/gi, ""));
    expect(new Set(heads).size).toBe(1);
    expect(answers[0]!.headers["www-authenticate"]).toBe("Bearer");
  });

  it("leaves no delivery", async () => {
    const before = (await gateway.deliveries()).length;
    await Promise.all(FAILURES.map(([, request]) => gateway.send(request)));
    expect((await gateway.deliveries()).length).toBe(before);
  });
});

describe("a token in the query string", () => {
  it.each([
    ["and nothing else", { target: `/hooks/wake?token=${HOOK_TOKEN}`, body: WAKE }],
    ["beside the right bearer", { target: "/hooks/wake?token=x", headers: [AUTHORIZED], body: WAKE }],
    ["beside a wrong bearer", { target: "/hooks/wake?token=x", headers: ["Authorization: Bearer no"], body: WAKE }],
    ["under a wrong method", { method: "GET", target: "/hooks/wake?token=x", headers: [AUTHORIZED] }],
    ["under the method HEAD", { method: "HEAD", target: "/hooks/wake?token=x" }],
    ["without a value", { target: "/hooks/wake?token", headers: [AUTHORIZED], body: WAKE }],
    ["with an empty value", { target: "/hooks/wake?token=", headers: [AUTHORIZED], body: WAKE }],
    ["behind others", { target: "/hooks/wake?a=1&b=2&token=x", headers: [AUTHORIZED], body: WAKE }],
    [
      "behind a hundred others",
      { target: `/hooks/wake?${"a=1&".repeat(150)}token=x`, headers: [AUTHORIZED], body: WAKE },
    ],
    ["in escapes", { target: "/hooks/wake?%74oken=x", headers: [AUTHORIZED], body: WAKE }],
    ["in escapes throughout", { target: "/hooks/wake?%74%6f%6B%65%6e=x", headers: [AUTHORIZED], body: WAKE }],
    ["in absolute form", { target: "http://gateway.test/hooks/wake?token=x", headers: [AUTHORIZED], body: WAKE }],
    ["on a path without a hook", { target: "/hooks/nothing?token=x", headers: [AUTHORIZED], body: WAKE }],
    ["on the prefix alone", { target: "/hooks?token=x", headers: [AUTHORIZED], body: WAKE }],
    ["with a body that is too large", { target: "/hooks/wake?token=x", headers: ["Content-Length: 9999999"] }],
  ] satisfies [string, WireRequest][])("spec 5.3: is rejected with status 400 %s", async (_case, request) => {
    const answer = await gateway.send(request);
    expect(answer.status).toBe(400);
    expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(answer.text).not.toContain(HOOK_TOKEN);
  });

  it.each(["Token", "tokens", "%2574oken", "hook.token", "x-service-token"])("is not one named %s", async (name) => {
    const target = `/hooks/wake?${name}=x`;
    expect((await gateway.send({ target, headers: [AUTHORIZED], body: WAKE })).status).toBe(200);
  });

  it("costs no failed attempt", async () => {
    await using strict = await RunningGateway.start();
    for (let round = 0; round < 25; round++) await strict.send({ target: "/hooks/wake?token=wrong", body: WAKE });
    expect((await strict.send(wake())).status).toBe(401);
  });
});

describe("a credential that let a request in", () => {
  it("is seen by no template and no transform, and is not stored", async () => {
    const seen =
      "{{headers.authorization}}{{headers.x-acme-token}}{{headers.cookie}}{{query.access_token}}{{headers.x-event}}";
    await using own = await RunningGateway.start({
      hooks: {
        tokenHeader: "x-acme",
        mappings: [
          { match: { path: "seen" }, messageTemplate: `[${seen}{{headers.x-acme}}]`, deliver: false },
          { match: { path: "moved" }, transform: { module: "look.mjs" }, deliver: false },
        ],
      },
      transforms: {
        "look.mjs": "export default ({ headers, url }) => ({ message: JSON.stringify([headers, url.href]) });",
      },
    });
    const headers = [`x-acme: ${HOOK_TOKEN}`, "Authorization: Basic eDp5", "Cookie: session=1", "X-Event: push"];
    for (const path of ["seen", "moved"]) {
      const answer = await own.send({ target: `/hooks/${path}?access_token=leak&a=1`, headers, body: "{}" });
      expect(answer.status).toBe(202);
      const delivery = await own.delivery((JSON.parse(answer.text) as { deliveryId: string }).deliveryId);
      const stored = JSON.stringify(delivery);
      for (const secret of [HOOK_TOKEN, "eDp5", "session=1", "leak"]) expect(stored).not.toContain(secret);
      expect(delivery.headers).toMatchObject({ "x-event": "push" });
      if (path === "seen") expect(delivery.runs[0]!.spec).toMatchObject({ message: "[push]" });
    }
  });
});
