import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { ProbeResult } from "../../../src/index.ts";
import { hookToken } from "../../unit/hosts/embedded/gateway/fixture.ts";
import { OperatedGateway } from "./operated-gateway.ts";

/** What callers reach: it passes everything on, or answers itself like another server. */
let proxy: Server;
let isBroken = false;
let publicUrl: string;
let operated: OperatedGateway;

const secret = "the-secret-that-github-signs-with";
const filtered = { id: "filtered", match: { path: "filtered" }, when: "payload.a == 1.0", messageTemplate: "x" };
const hooks = (changes: object = {}) => ({
  publicUrl,
  presets: ["github"],
  github: { secret, deliver: false },
  mappings: [filtered],
  ...changes,
});

beforeAll(async () => {
  proxy = createServer((req, res) => {
    if (isBroken) return void res.writeHead(404, { "content-type": "text/html" }).end("<h1>Not here</h1>");
    const { port } = new URL(operated.gateway.url);
    const { method, headers, url: path } = req;
    const passed = request({ host: "127.0.0.1", port, method, headers, path }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    req.pipe(passed);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  publicUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  operated = await OperatedGateway.start(hooks());
});
afterAll(async () => {
  await operated[Symbol.asyncDispose]();
  proxy.closeAllConnections();
  proxy.close();
});

async function probe(mapping: string): Promise<ProbeResult> {
  return (await operated.api("POST", `hooks/${mapping}/probe`, {})).body as unknown as ProbeResult;
}

async function deliveries(): Promise<number> {
  return ((await operated.api("GET", "deliveries")).body["deliveries"] as unknown[]).length;
}

describe("a probe", () => {
  it("comes through the public URL, signed, as far as the mapping and no further", async () => {
    const result = await probe("github");
    expect(result).toMatchObject({
      mapping: "github",
      ok: true,
      url: `${publicUrl}/hooks/github`,
      status: 200,
      outcome: "queued",
      detail: "it arrives, and would be queued",
    });
    expect(await probe("filtered")).toMatchObject({ ok: true, outcome: "filtered" });
    expect(await deliveries()).toBe(0);
    expect(operated.model.requests).toEqual([]);
  });

  it("says that another server answers, and that nothing does", async () => {
    isBroken = true;
    try {
      const detail = "another server answers 404: <h1>Not here</h1>; check the proxy in front of the gateway";
      expect(await probe("github")).toMatchObject({ ok: false, status: 404, outcome: null, detail });
    } finally {
      isBroken = false;
    }
    await operated.reload(hooks({ publicUrl: "http://127.0.0.1:9" }));
    expect(await probe("github")).toMatchObject({ ok: false, detail: expect.stringContaining("cannot be reached") });
    await operated.reload(hooks());
    expect((await operated.api("POST", "hooks/nothing/probe", {})).status).toBe(404);
  });

  it("says which URL is missing", async () => {
    await operated.reload(hooks({ publicUrl: undefined }));
    const detail = "hooks.publicUrl is not set; set it to the address that senders call";
    expect(await probe("github")).toMatchObject({ ok: false, url: null, detail });
    await operated.reload(hooks());
  });

  it("is none without a nonce that the gateway made, whatever the header says", async () => {
    const headers = { authorization: `Bearer ${hookToken}`, "content-type": "application/json" };
    for (const nonce of ["guessed", "", "undefined"]) {
      const body = JSON.stringify({ a: 1 });
      const init = { method: "POST", headers: { ...headers, "x-reveille-probe": nonce }, body };
      const response = await fetch(`${operated.gateway.url}/hooks/filtered`, init);
      expect(response.status).toBe(202);
    }
    expect(await deliveries()).toBe(3);
  });

  it("is sent now and then, and one notice says that it does not arrive", async () => {
    await operated.reload(hooks({ probeEvery: "1h", mappings: [] }));
    isBroken = true;
    vi.useFakeTimers({ toFake: ["setInterval"] });
    try {
      await operated.restart();
      for (let minutes = 0; minutes < 5; minutes++) await vi.advanceTimersByTimeAsync(60_000);
      const waiting = async (): Promise<string> =>
        JSON.stringify((await operated.api("GET", `sessions/${encodeURIComponent("agent:main:main")}/events`)).body);
      await vi.waitFor(async () => expect(await waiting()).toContain("A probe of github at"), 15_000);
      expect((await waiting()).match(/A probe of github/gu)).toHaveLength(1);
    } finally {
      vi.useRealTimers();
      isBroken = false;
    }
  });
});
