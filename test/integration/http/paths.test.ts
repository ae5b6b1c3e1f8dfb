import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { wireRequest } from "./http-connection.ts";
import { AUTHORIZED, RunningGateway } from "./running-gateway.ts";

const WAKE = JSON.stringify({ text: "x", mode: "next-heartbeat" });
const STATIC = { messageTemplate: "{{path}}", deliver: false };

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await RunningGateway.start({
    hooks: {
      lockout: { failures: 1_000 },
      mappings: [
        { match: { path: "wake" }, name: "of wake", ...STATIC },
        { match: { path: "/github/push/" }, ...STATIC },
        { match: { path: "a%20b" }, ...STATIC },
        { match: { path: "Case" }, ...STATIC },
        { match: { path: "order", source: "b" }, name: "first", ...STATIC },
        { match: { path: "order" }, name: "second", ...STATIC },
        { match: { path: "order", source: "c" }, name: "never", ...STATIC },
      ],
    },
  });
});
afterAll(() => gateway[Symbol.asyncDispose]());

function post(target: string, body = WAKE) {
  return gateway.send({ target, headers: [AUTHORIZED], body });
}

describe("spec 4: the paths of hooks", () => {
  it.each([
    ["/hooks/wake", 200],
    ["/hooks//wake", 200],
    ["/hooks////wake", 200],
    ["/hooks/wake?a=1", 200],
    ["/hooks/wake?", 200],
    ["http://gateway.test/hooks/wake", 200],
    ["HTTPS://other.test:1234/hooks/wake?a=1", 200],
    // A sub-path of its own, which is not the endpoint but may be a mapping's.
    ["/hooks/wake/", 202],
    ["/hooks//wake//", 202],
    ["/hooks/github/push", 202],
    ["/hooks/github/push/", 202],
    ["/hooks/a%20b", 202],
    ["/hooks/Case", 202],
    ["/hooks", 404],
    ["/hooks/", 404],
    ["/hooks//", 404],
    ["/hooks?a=1", 404],
    ["/hooks/agent/", 404],
    ["/hooks/wake/x", 404],
    ["/hooks/nothing", 404],
    ["/hooks/case", 404],
    ["/hooks/github", 404],
    ["/hooks/github/push/x", 404],
    // Nothing is decoded and nothing normalized.
    ["/hooks/%77ake", 404],
    ["/hooks/../hooks/wake", 404],
    ["/hooks/./wake", 404],
    ["/hooks/x/../wake", 404],
    ["/hooks/%2e%2e/hooks/wake", 404],
    ["/hooks/wake%00", 404],
    ["/hooks\\wake", 404],
    ["/Hooks/wake", 404],
    ["/hooksX", 404],
    ["/hooksX/wake", 404],
    ["//hooks/wake", 404],
    ["/", 404],
    ["*", 404],
    ["ftp://gateway.test/hooks/wake", 404],
    ["hooks/wake", 400],
  ])("%s is answered %i", async (target, status) => {
    expect((await post(target)).status).toBe(status);
  });

  it("may lie elsewhere, and then nothing is left under /hooks", async () => {
    await using other = await RunningGateway.start({ hooks: { path: "in/coming//" } });
    const at = (target: string) => other.send({ target, headers: [AUTHORIZED], body: WAKE });
    expect((await at("/in/coming/wake")).status).toBe(200);
    expect((await at("/hooks/wake")).status).toBe(404);
    expect((await at("/in/wake")).status).toBe(404);
  });

  it("spec 1: do not exist unless hooks.enabled is true", async () => {
    await using off = await RunningGateway.start({ hooks: { enabled: false } });
    for (const target of ["/hooks/wake", "/hooks/agent", "/hooks", "/hooks/wake?token=x"]) {
      expect((await off.send({ target, headers: [AUTHORIZED], body: WAKE })).status).toBe(404);
    }
  });
});

describe("spec 4.3: a mapped hook", () => {
  it("is the first that matches, in the order of the configuration, by path and the payload's source", async () => {
    const nameFor = async (payload: object): Promise<string> => {
      const answer = await gateway.post("/hooks/order", payload);
      return (await gateway.delivery(answer.body["deliveryId"])).name;
    };
    expect(await nameFor({ source: "b" })).toBe("first");
    expect(await nameFor({ source: "c" })).toBe("second");
    expect(await nameFor({})).toBe("second");
    expect(await nameFor({ source: ["b"] })).toBe("second");
  });

  it("does not take /wake and /agent from the endpoints of that name", async () => {
    expect((await post("/hooks/wake")).status).toBe(200);
    const answer = await gateway.post("/hooks/wake/", {});
    expect((await gateway.delivery(answer.body["deliveryId"])).name).toBe("of wake");
  });

  it("takes every path when it names none, but not the prefix alone", async () => {
    await using open = await RunningGateway.start({ hooks: { mappings: [{ match: { path: "/" }, ...STATIC }] } });
    const at = async (target: string): Promise<number> =>
      (await open.send({ target, headers: [AUTHORIZED], body: "{}" })).status;
    expect(await at("/hooks/anything/at/all")).toBe(202);
    expect(await at("/hooks")).toBe(404);
    expect(await at("/hooks/../hooks/x")).toBe(404);
    expect(await at("/hooks/wake")).toBe(400);
  });

  it("with ten thousand others before it is found all the same", async () => {
    const mappings = Array.from({ length: 10_000 }, (_, at) => ({ match: { path: `hook-${at}` }, ...STATIC }));
    await using many = await RunningGateway.start({ hooks: { mappings } });
    const answer = await many.post("/hooks/hook-9999", {});
    expect(answer.status).toBe(202);
    expect((await many.delivery(answer.body["deliveryId"])).mappingId).toBe("mapping-10000");
  });
});

describe("a path without a hook", () => {
  it("is answered before the body is sent", async () => {
    const connection = await gateway.connect();
    connection.send(wireRequest({ target: "/hooks/nothing", headers: [AUTHORIZED, "Content-Length: 100"] }));
    const answer = await connection.answer();
    expect(answer.status).toBe(404);
    expect(JSON.parse(answer.text)).toMatchObject({ ok: false, code: "NOT_FOUND" });
  });

  it("is answered 401 to who has no token", async () => {
    for (const target of ["/hooks", "/hooks/nothing", "/hooks/../hooks/wake"]) {
      expect((await gateway.send({ target, body: WAKE })).status).toBe(401);
    }
  });
});
