import { once } from "node:events";
import { createServer, get } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeOpenClaw } from "./fake-openclaw.ts";
import { OpenGateway } from "./open-gateway.ts";

const token = "the-token-of-the-hooks-of-this-test";
const api = "/plugins/reveille/api/v1";
let openClaw: FakeOpenClaw;
let server: Server;
let opened: OpenGateway;
let url: string;

beforeEach(async () => {
  openClaw = new FakeOpenClaw();
  server = createServer((req, res) => {
    const route = openClaw.routes.find(({ path }) => req.url?.startsWith(path));
    void route?.handler(req, res);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  url = `http://127.0.0.1:${port}`;
  const config = { enabled: true, path: "/reveille", token };
  openClaw.config = { gateway: { port }, plugins: { entries: { reveille: { config } } } };
  opened = await OpenGateway.start({ openClaw, bare: false });
});

afterEach(async () => {
  await opened[Symbol.asyncDispose]();
  server.closeAllConnections();
  server.close();
});

function post(path: string, headers: Record<string, string> = {}, body = "{}"): Promise<Response> {
  return fetch(url + path, { method: "POST", headers, body });
}

async function acceptOne(): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await post("/reveille/agent", headers, JSON.stringify({ message: "Look at it." }));
  return ((await response.json()) as { deliveryId: string }).deliveryId;
}

it("puts the operator's API behind the host's own authentication, and the hooks behind ours", () => {
  expect(openClaw.routes.map(({ path, auth, match }) => [path, auth, match])).toEqual([
    [api, "gateway", "prefix"],
    ["/reveille", "plugin", "prefix"],
    ["/plugins/reveille/console", "plugin", "prefix"],
  ]);
});

const page = "/plugins/reveille/console";

it("serves the console, which only a link from behind the host's authentication opens", async () => {
  const shown = await fetch(`${url}${page}/`);
  expect([shown.status, shown.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect((await fetch(`${url}${page}/api/deliveries`)).status).toBe(401);
  const own = { "x-reveille-console": "1", "content-type": "application/json" };
  const byToken = await post(`${page}/api/sign-in`, own, JSON.stringify({ token }));
  expect([byToken.status, await byToken.json()]).toMatchObject([
    401,
    { error: expect.stringContaining("openclaw reveille console prints one") },
  ]);
  const { path } = (await (await post(`${api}/console/links`)).json()) as { path: string };
  const [, link] = /^\/plugins\/reveille\/console\/#sign-in=(.+)$/u.exec(path) ?? [];
  const signedIn = await post(`${page}/api/sign-in`, own, JSON.stringify({ link }));
  expect(signedIn.status).toBe(200);
  const cookie = signedIn.headers.get("set-cookie")!.split(";", 1)[0]!;
  expect(signedIn.headers.get("set-cookie")).toContain(`Path=${page}`);
  const id = await acceptOne();
  const read = async (what: string): Promise<unknown> =>
    (await fetch(`${url}${page}/api/${what}`, { headers: { cookie } })).json();
  expect(await read("deliveries")).toMatchObject({ deliveries: [{ id }] });
  expect(await read("status")).toMatchObject({ ready: true, hasSessions: false });
  // The cookie is none of the API's.
  expect((await post(`${page}/api/sign-in`, own, JSON.stringify({ link }))).status).toBe(401);
});

it("ends every sign-in to the console when the host's authentication changes", async () => {
  const own = { "x-reveille-console": "1", "content-type": "application/json" };
  const { path } = (await (await post(`${api}/console/links`)).json()) as { path: string };
  const signedIn = await post(`${page}/api/sign-in`, own, JSON.stringify({ link: path.split("=")[1] }));
  const cookie = signedIn.headers.get("set-cookie")!.split(";", 1)[0]!;
  const status = async (): Promise<number> =>
    (await fetch(`${url}${page}/api/deliveries`, { headers: { cookie } })).status;
  expect(await status()).toBe(200);
  openClaw.config = {
    ...openClaw.config,
    gateway: { ...(openClaw.config["gateway"] as object), auth: { token: "another" } },
  };
  expect(await status()).toBe(401);
});

/** The status of a listing that was asked for under this name; `fetch` sets the name itself. */
async function statusUnder(host: string, headers: Record<string, string> = {}): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  get(`${url}${api}/deliveries`, { headers: { ...headers, host } }, (response) => {
    response.resume();
    resolve(response.statusCode);
  }).on("error", reject);
  return promise;
}

it("is not reached under a name that a page of another site may have given this machine", async () => {
  const { plugins } = openClaw.config;
  const gatewayIs = (gateway: object): void => void (openClaw.config = { plugins, gateway });
  gatewayIs({ auth: { mode: "none" }, controlUi: { allowedOrigins: ["https://claw.example:8443", "*", 7] } });
  for (const own of ["127.0.0.1:1", "[::1]:1", "localhost:1", "box.local", "box.tail1.ts.net", "claw.example:8443"]) {
    expect([own, await statusUnder(own)]).toEqual([own, 200]);
  }
  for (const other of ["elsewhere.example:1", "claw.example", "local", "localhost.elsewhere.example", "a b"]) {
    expect([other, await statusUnder(other)]).toEqual([other, 403]);
    expect(await statusUnder(other, { authorization: "Bearer x" })).toBe(403);
  }
});

it("takes every name from a caller whom the host has asked for a credential", async () => {
  const { plugins } = openClaw.config;
  openClaw.config = { plugins };
  expect(await statusUnder("claw.example")).toBe(403);
  expect(await statusUnder("claw.example", { authorization: "Bearer x" })).toBe(200);
  openClaw.config = { plugins, gateway: { auth: { mode: "trusted-proxy" } } };
  expect(await statusUnder("claw.example")).toBe(200);
});

it("lists deliveries, shows one, and replays it", async () => {
  const id = await acceptOne();
  const page = (await (await fetch(`${url}${api}/deliveries`)).json()) as { deliveries: { id: string }[] };
  expect(page.deliveries.map((delivery) => delivery.id)).toEqual([id]);
  await expect
    .poll(async () => (await (await fetch(`${url}${api}/deliveries/${id}`)).json()) as object)
    .toMatchObject({
      state: "done",
    });
  const replayed = await post(`${api}/deliveries/${id}/replay`);
  expect([replayed.status, await replayed.json()]).toMatchObject([200, { ok: true, outcome: "replayed" }]);
  await expect.poll(() => openClaw.runs.length).toBe(2);
});

it("refuses what a page of another site asks of it, and takes what comes from none or its own", async () => {
  const own = { origin: url, "sec-fetch-site": "same-origin" };
  expect((await post(`${api}/hooks/*/pause`, own)).status).toBe(200);
  for (const [name, value] of [
    ["origin", "https://elsewhere.example"],
    ["origin", "null"],
    ["sec-fetch-site", "cross-site"],
    ["sec-fetch-site", "same-site"],
  ] as const) {
    const response = await post(`${api}/hooks/*/resume`, { [name]: value });
    expect([response.status, await response.json()]).toMatchObject([403, { ok: false, code: "CROSS_SITE" }]);
  }
  const states = (await (await fetch(`${url}${api}/hooks`)).json()) as { all: { paused: unknown } };
  expect(states.all.paused).toBeTruthy();
});

it("answers 405 and 404 as the API of the embedded gateway does, and is gone with the service", async () => {
  expect((await fetch(`${url}${api}/deliveries`, { method: "PUT" })).status).toBe(405);
  expect((await fetch(`${url}${api}/nothing`)).status).toBe(404);
  await opened.gateway.stop();
  expect(openClaw.routes).toEqual([]);
});
