import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ActiveConfig } from "../../../../src/ingress/active-config.ts";
import { RequestFacts } from "../../../../src/ingress/request-log.ts";
import { edge, release } from "../../../../src/ingress/stages/edge.ts";
import type { RequestContext } from "../../../../src/ingress/stages/edge.ts";
import { GOOD_TOKEN } from "../../config/hooks-context.ts";
import { withRequest } from "../../http/wire.ts";
import { RECEIVED_AT, StageBench } from "./stage-bench.ts";

describe("the edge", () => {
  let bench: StageBench;
  let active: ActiveConfig;

  beforeAll(async () => {
    bench = await StageBench.open();
    active = await bench.active();
  });
  beforeEach(() => {
    while (bench.ingress.inFlight.count > 0) bench.ingress.inFlight.leave();
    bench.limit = 10;
  });
  afterAll(() => bench[Symbol.asyncDispose]());

  const head = (line: string, headers: readonly string[] = []): string =>
    [`${line} HTTP/1.1`, "Host: localhost", "Content-Length: 0", ...headers, "", ""].join("\r\n");

  function arrive(line: string, headers?: readonly string[], by: ActiveConfig = active) {
    return withRequest(
      (req) => edge(bench.ingress, by, req, new RequestFacts()),
      (socket) => socket.write(head(line, headers)),
    );
  }

  it("lets a POST in, with its path, its query, its client and the time", async () => {
    const request = (await arrive("POST /hooks/github/push?a=1")) as RequestContext;
    expect(request).toMatchObject({
      target: { path: "github/push", query: { a: "1" }, hasQueryToken: false },
      clientAddress: "127.0.0.1",
      receivedAt: RECEIVED_AT,
    });
    expect(request.req.method).toBe("POST");
    expect(bench.ingress.inFlight.count).toBe(1);
  });

  it.each([
    ["POST /hooks/wake?token=x", []],
    ["POST /hooks/wake?token=", []],
    ["POST /hooks/wake?a=1&%74oken=x", []],
    [`POST /hooks/wake?token=${GOOD_TOKEN}`, []],
    [`POST /hooks/wake?token=x`, [`Authorization: Bearer ${GOOD_TOKEN}`]],
    ["GET /hooks/wake?token=x", []],
    ["POST /hooks/none?token=x", []],
    ["POST /hooks?token=x", []],
  ])("spec 5.3: a token in the query string is rejected whatever else was sent: %s %j", async (line, headers) => {
    expect(await arrive(line, headers)).toMatchObject({ refused: "TOKEN_IN_QUERY" });
    expect(bench.ingress.inFlight.count).toBe(0);
  });

  it("takes a parameter that is only called like it for what it is", async () => {
    expect(await arrive("POST /hooks/wake?Token=x&tokens=1")).toMatchObject({ target: { path: "wake" } });
  });

  it.each(["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])(
    "spec 4: all endpoints use method POST, so %s is refused",
    async (method) => {
      expect(await arrive(`${method} /hooks/wake`)).toMatchObject({ refused: "METHOD_NOT_ALLOWED" });
      expect(bench.ingress.inFlight.count).toBe(0);
    },
  );

  it.each(["GET", "HEAD"])("lets a %s below deliveries/ in, which asks for the state of one", async (method) => {
    expect(await arrive(`${method} /hooks/deliveries/dlv_1?a=1`)).toMatchObject({ statusOf: "dlv_1" });
    expect(await arrive(`${method} /hooks/deliveries/a/b/`)).toMatchObject({ statusOf: "a/b/" });
    expect(await arrive(`${method} /hooks/deliveries`)).toMatchObject({ refused: "METHOD_NOT_ALLOWED" });
    expect(await arrive(`${method} /hooks/deliveries/..`)).toMatchObject({ refused: "METHOD_NOT_ALLOWED" });
    expect(await arrive(`${method} /hooks/xdeliveries/a`)).toMatchObject({ refused: "METHOD_NOT_ALLOWED" });
  });

  it("leaves every other method below deliveries/ as it is elsewhere", async () => {
    expect(await arrive("POST /hooks/deliveries/dlv_1")).toMatchObject({ statusOf: undefined });
    expect(await arrive("DELETE /hooks/deliveries/dlv_1")).toMatchObject({ refused: "METHOD_NOT_ALLOWED" });
    expect(await arrive("GET /hooks/deliveries/dlv_1?token=x")).toMatchObject({ refused: "TOKEN_IN_QUERY" });
  });

  it("leaves a GET below deliveries/ to the sender whose path it is", async () => {
    const presets = {
      presets: ["trello"],
      trello: { secret: "secret-of-the-edge-tests", path: "deliveries/x" },
    };
    const own = await bench.active({ ...presets, publicUrl: "https://gateway.example.com" });
    const request = await arrive("HEAD /hooks/deliveries/x", [], own);
    expect(request).toMatchObject({ statusOf: undefined, sender: { route: { path: "deliveries/x" } } });
  });

  it("takes a place and bytes back once, however often the request leaves", async () => {
    const request = (await arrive("POST /hooks/wake")) as RequestContext;
    expect(bench.ingress.inFlight.count).toBe(1);
    expect(bench.ingress.unverifiedBytes.reserve(5)).toBe(true);
    request.heldBytes = 5;
    release(bench.ingress, request);
    release(bench.ingress, request);
    expect([bench.ingress.inFlight.count, bench.ingress.unverifiedBytes.reserved]).toEqual([0, 0]);
  });

  it("refuses requests over the number that may be in progress at once", async () => {
    bench.limit = 1;
    expect(await arrive("POST /hooks/wake")).toHaveProperty("req");
    expect(await arrive("POST /hooks/wake")).toMatchObject({ refused: "BUSY" });
    bench.ingress.inFlight.leave();
    expect(await arrive("POST /hooks/wake")).toHaveProperty("req");
  });

  it("still says what is wrong with a request while it is full", async () => {
    bench.limit = 0;
    expect(await arrive("POST /hooks/wake?token=x")).toMatchObject({ refused: "TOKEN_IN_QUERY" });
    expect(await arrive("GET /hooks/wake")).toMatchObject({ refused: "METHOD_NOT_ALLOWED" });
  });

  it("believes no forwarded address of a peer that is not trusted", async () => {
    const request = await arrive("POST /hooks/wake", ["X-Forwarded-For: 203.0.113.9"]);
    expect(request).toMatchObject({ clientAddress: "127.0.0.1" });
  });

  it("reads forwarded addresses of trusted proxies from the right, over several headers", async () => {
    const behind = await bench.active({}, { trustedProxies: ["127.0.0.1", "10.0.0.0/8"] });
    const headers = ["X-Forwarded-For: 198.51.100.1, 203.0.113.9", "X-Forwarded-For: 10.0.0.7"];
    expect(await arrive("POST /hooks/wake", headers, behind)).toMatchObject({ clientAddress: "203.0.113.9" });
  });
});
