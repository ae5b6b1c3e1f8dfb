import { request } from "node:http";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import { baseConfig, GatewayFixture, gatewayToken, hookToken } from "../../unit/hosts/embedded/gateway/fixture.ts";

let fixture: GatewayFixture;
let gateway: EmbeddedGateway;

beforeEach(async () => {
  fixture = new GatewayFixture();
  gateway = await fixture.start();
});

afterEach(async () => {
  await fixture.remove();
});

type Headers = Record<string, string>;
const OWN: Headers = { "x-reveille-console": "1", "content-type": "application/json" };

function signIn(body: object, headers: Headers = OWN): Promise<Response> {
  return fetch(`${gateway.url}/console/api/sign-in`, { method: "POST", headers, body: JSON.stringify(body) });
}

async function cookie(): Promise<string> {
  const response = await signIn({ token: gatewayToken });
  expect(response.status).toBe(200);
  return response.headers.get("set-cookie")!.split(";")[0]!;
}

async function statusOf(path: string, headers: Headers = {}, method = "GET"): Promise<number> {
  return (await fetch(`${gateway.url}${path}`, { method, headers, redirect: "manual" })).status;
}

describe("the sign-in to the console", () => {
  it("takes the gateway token once, and gives a cookie for the console alone that no script reads", async () => {
    expect(await statusOf("/console/api/deliveries")).toBe(401);
    const response = await signIn({ token: gatewayToken });
    expect(response.headers.get("set-cookie")).toMatch(
      /^reveille_console_\d+=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/console$/u,
    );
    const session = await cookie();
    expect(await statusOf("/console/api/deliveries", { cookie: session })).toBe(200);
    expect(await statusOf("/console/api/hooks", { cookie: session })).toBe(200);
    // The API of programs takes no cookie, so that no other page can use it.
    expect(await statusOf("/api/v1/deliveries", { cookie: session })).toBe(401);
    // The console's data takes no token: it is no second API.
    expect(await statusOf("/console/api/deliveries", { authorization: `Bearer ${gatewayToken}` })).toBe(401);
  });

  it("takes a link of the API once", async () => {
    const answer = await fetch(`${gateway.url}/api/v1/console/links`, {
      method: "POST",
      headers: { authorization: `Bearer ${gatewayToken}` },
    });
    const { path } = (await answer.json()) as { path: string };
    const [page, link] = path.split("#sign-in=");
    expect(page).toBe("/console/");
    expect((await signIn({ link })).status).toBe(200);
    expect((await signIn({ link })).status).toBe(401);
    expect(await statusOf("/api/v1/console/links", {}, "POST")).toBe(401);
  });

  it("refuses what another site sends", async () => {
    const session = { cookie: await cookie() };
    for (const headers of [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "https://evil.example" },
      { origin: "null" },
      { "x-reveille-console": "" },
    ]) {
      const response = await fetch(`${gateway.url}/console/api/hooks/*/pause`, {
        method: "POST",
        headers: { ...OWN, ...session, ...headers },
        body: "{}",
      });
      expect([headers, response.status]).toEqual([headers, 403]);
    }
    expect(await statusOf("/console/api/deliveries", { ...session, "sec-fetch-site": "cross-site" })).toBe(403);
    const { hostname, port } = new URL(gateway.url);
    const status = await new Promise((resolve, reject) => {
      const path = "/console/api/deliveries";
      request({ hostname, port, path, headers: { ...session, host: "evil.example" } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
    });
    expect(status).toBe(403);
  });

  it("counts failures in the lockout, and lets the right token pass all the same", async () => {
    for (let tries = 0; tries < 20; tries++) {
      expect((await signIn(tries % 2 === 0 ? { token: "wrong" } : { link: "wrong" })).status).toBe(401);
    }
    const locked = await signIn({ token: "wrong" });
    expect([locked.status, Number(locked.headers.get("retry-after")) > 0]).toEqual([429, true]);
    expect(await statusOf("/api/v1/deliveries", { authorization: "Bearer wrong" })).toBe(429);
    expect((await signIn({ token: gatewayToken })).status).toBe(200);
    expect((await signIn({ token: "wrong" })).status).toBe(401);
  });

  it("ends with a sign-out, and with a token that is rotated", async () => {
    const [first, second] = [await cookie(), await cookie()];
    await fetch(`${gateway.url}/console/api/sign-out`, { method: "POST", headers: { ...OWN, cookie: first } });
    expect(await statusOf("/console/api/hooks", { cookie: first })).toBe(401);
    expect(await statusOf("/console/api/hooks", { cookie: second })).toBe(200);
    fixture.write({
      ...baseConfig,
      gateway: { ...baseConfig.gateway, auth: { token: "another-token-of-these-tests" } },
    });
    await vi.waitFor(async () => {
      await gateway.reload();
      expect(await statusOf("/console/api/hooks", { cookie: second })).toBe(401);
    }, 15_000);
  });

  it("ends a stream of events with the token of its sign-in", async () => {
    const headers = { ...OWN, cookie: await cookie() };
    const stream = await fetch(`${gateway.url}/console/api/events`, { headers });
    expect(stream.status).toBe(200);
    const told = text(stream.body!).then(
      () => "ended",
      () => "ended",
    );
    fixture.write({
      ...baseConfig,
      gateway: { ...baseConfig.gateway, auth: { token: "another-token-of-these-tests" } },
    });
    await vi.waitFor(async () => {
      await gateway.reload();
      expect(await statusOf("/console/api/hooks", headers)).toBe(401);
    }, 15_000);
    const wake = { method: "POST", headers: { authorization: `Bearer ${hookToken}` }, body: '{"text":"news"}' };
    expect((await fetch(`${gateway.url}/hooks/wake`, wake)).status).toBe(200);
    expect(await told).toBe("ended");
  });

  it("leads from / to the page", async () => {
    const response = await fetch(gateway.url, { redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([302, "/console/"]);
    expect(await statusOf("/console")).toBe(308);
    expect(await statusOf("/console/", {}, "POST")).toBe(405);
    expect(await statusOf("/console/..%2findex.html")).toBe(404);
  });
});
