import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { AgentSpec } from "../../../src/core/run.ts";
import { HOOK_TOKEN, RunningGateway } from "./running-gateway.ts";
import { call, github, GITHUB_SECRET, githubHeaders, hmac, pushOf } from "./sender-calls.ts";

const HOOKS = { presets: ["github"], github: { secret: GITHUB_SECRET, deliver: false, wakeMode: "next-heartbeat" } };
const start = (hooks: object = HOOKS) => RunningGateway.start({ hooks });

async function messageOf(gateway: RunningGateway, deliveryId: unknown): Promise<string> {
  const delivery = await gateway.delivery(deliveryId);
  return (delivery.runs[0]!.spec as AgentSpec).message;
}

describe("a sender's own signature", () => {
  it("lets its call in without any hook token, and the agent gets the event", async () => {
    await using gateway = await start();
    const answer = await github(gateway, pushOf("site"));
    expect(answer.status).toBe(200);
    expect(await messageOf(gateway, answer.body["deliveryId"])).toMatch(/ada.*acme\/site/u);
  });

  it("covers the exact bytes: the same data written differently is refused", async () => {
    await using gateway = await start();
    const body = pushOf("site");
    const headers = githubHeaders(body);
    expect((await call(gateway, "/hooks/github", { headers, body: `${body} ` })).status).toBe(401);
    expect((await call(gateway, "/hooks/github", { headers, body })).status).toBe(200);
  });

  it("is the only way in on its path: not the hook token, not another secret, not none", async () => {
    await using gateway = await start();
    const body = pushOf("site");
    const { "x-hub-signature-256": _signature, ...unsigned } = githubHeaders(body);
    const refused = [
      await gateway.post("/hooks/github", body),
      await github(gateway, body, { secret: HOOK_TOKEN }),
      await call(gateway, "/hooks/github", { headers: unsigned, body }),
      await call(gateway, "/hooks/github/", { headers: unsigned, body }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    expect(new Set(refused.map(({ text }) => text)).size).toBe(1);
    expect(await gateway.deliveries()).toEqual([]);
  });

  it("may cover 1 MiB, however little other callers may send", async () => {
    const secret = "secret-of-the-intercom-tests";
    await using gateway = await start({ maxBodyBytes: "64kb", presets: ["intercom"], intercom: { secret } });
    const post = (bytes: number) => {
      const body = JSON.stringify({ topic: "conversation.user.created", id: `n${bytes}`, data: { pad: "" } });
      const padded = body.replace('"pad":""', `"pad":"${"x".repeat(bytes - body.length)}"`);
      const mac = createHmac("sha1", secret).update(padded).digest("hex");
      const headers = { "content-type": "application/json", "x-hub-signature": `sha1=${mac}` };
      return call(gateway, "/hooks/intercom", { headers, body: padded });
    };
    expect((await post(1_048_576)).status).toBe(200);
    expect((await post(1_048_577)).status).toBe(413);
    expect((await gateway.post("/hooks/agent", { message: "x".repeat(65_536) })).status).toBe(413);
  });

  it("opens no other path: not the fixed ones, not a mapping that takes any path", async () => {
    const mappings = [{ id: "any", messageTemplate: "any {{ref}}", deliver: false }];
    await using gateway = await start({ ...HOOKS, mappings });
    const body = pushOf("site");
    for (const path of ["/hooks/agent", "/hooks/wake", "/hooks/other", "/hooks/github/x"]) {
      expect((await github(gateway, body, { path })).status).toBe(401);
    }
    const answer = await github(gateway, body);
    expect((await gateway.delivery(answer.body["deliveryId"])).mappingId).toBe("github");
  });

  it("counts as a failure when it is wrong, and is never locked out when it is right", async () => {
    await using gateway = await start({ ...HOOKS, lockout: { failures: 3 } });
    const statuses: number[] = [];
    for (let at = 0; at < 5; at++) statuses.push((await github(gateway, pushOf("x"), { secret: "wrong" })).status);
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    expect((await github(gateway, pushOf("site"))).status).toBe(200);
    expect((await github(gateway, pushOf("x"), { secret: "wrong" })).status).toBe(401);
  });

  it("is answered 405 with the methods there are for any other", async () => {
    await using gateway = await start();
    const answer = await call(gateway, "/hooks/github", { method: "GET" });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
  });

  it("may be made with the old and the new secret while they are rotated, and with neither before nor after", async () => {
    const [old, fresh] = ["old-secret-of-the-rotation", "new-secret-of-the-rotation"];
    await using gateway = await start({ presets: ["github"], github: { secret: [old, fresh] } });
    expect((await github(gateway, pushOf("a"), { secret: old })).status).toBe(200);
    expect((await github(gateway, pushOf("b"), { secret: fresh })).status).toBe(200);
    gateway.writeHooks({ presets: ["github"], github: { secret: [fresh] } });
    expect((await gateway.reload()).applied).toBe(true);
    expect((await github(gateway, pushOf("c"), { secret: old })).status).toBe(401);
    expect((await github(gateway, pushOf("d"), { secret: fresh })).status).toBe(200);
  });

  it("leaves its secret nowhere: not in a log line, not in the state directory", async () => {
    await using gateway = await start();
    await github(gateway, pushOf("site"));
    await github(gateway, pushOf("site"), { secret: "another-secret-that-is-wrong" });
    expect(JSON.stringify(gateway.logger.lines)).not.toContain(GITHUB_SECRET);
    const file = readFileSync(join(gateway.folder, "state", "reveille.sqlite"));
    expect(file.includes(GITHUB_SECRET)).toBe(false);
  });

  it("says in the log why a call was refused, and nothing to the caller", async () => {
    await using gateway = await start();
    const answer = await github(gateway, pushOf("site"), { secret: "wrong" });
    expect(answer.text).not.toMatch(/sha256|signature is|expected/iu);
    const find = () => gateway.logger.lines.find(({ fields }) => fields["code"] === "UNAUTHORIZED");
    const { fields } = await vi.waitUntil(find, { timeout: 15_000 });
    expect(fields).toMatchObject({ route: "github", client: "127.0.0.1", reason: expect.any(String) as string });
  });
});

describe("a second copy of a signed call", () => {
  it("runs nothing and is answered as the first, whatever delivery id it comes with", async () => {
    await using gateway = await start();
    const body = pushOf("site");
    const first = await github(gateway, body);
    const copies = [await github(gateway, body), await github(gateway, body, { id: "an-id-of-the-attacker" })];
    for (const copy of copies) expect([copy.status, copy.text]).toEqual([first.status, first.text]);
    const upper = {
      ...githubHeaders(body),
      "x-hub-signature-256": `sha256=${hmac(GITHUB_SECRET, body).toUpperCase()}`,
    };
    expect((await call(gateway, "/hooks/github", { headers: upper, body })).text).toBe(first.text);
    expect(await gateway.firsts()).toHaveLength(1);
  });

  it("is one delivery also when both come at once", async () => {
    await using gateway = await start();
    const body = pushOf("site");
    const answers = await Promise.all(Array.from({ length: 20 }, () => github(gateway, body)));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await gateway.firsts()).toHaveLength(1);
  });

  it("is recognized after a restart", async () => {
    await using gateway = await start();
    const body = pushOf("site");
    const first = await github(gateway, body);
    await gateway.restart();
    expect((await github(gateway, body)).text).toBe(first.text);
    expect(await gateway.firsts()).toHaveLength(1);
  });

  it("is recognized by the sender's id when it has a new signature", async () => {
    await using gateway = await start({
      presets: ["slack"],
      slack: { secret: "5f0c2a9be1d84736a1b2c3d4e5f60718", deliver: false },
    });
    const body = JSON.stringify({
      type: "event_callback",
      event_id: "Ev1",
      event: { type: "app_mention", user: "U1", text: "hello", channel: "C1", ts: "1.1" },
    });
    const post = (secondsAgo: number) => {
      const ts = String(Math.floor(Date.now() / 1_000) - secondsAgo);
      const signature = `v0=${hmac("5f0c2a9be1d84736a1b2c3d4e5f60718", `v0:${ts}:${body}`)}`;
      return call(gateway, "/hooks/slack", {
        headers: {
          "content-type": "application/json",
          "x-slack-signature": signature,
          "x-slack-request-timestamp": ts,
        },
        body,
      });
    };
    const first = await post(10);
    expect(first.status).toBeLessThan(300);
    expect((await post(5)).status).toBe(first.status);
    expect(await gateway.firsts()).toHaveLength(1);
    expect((await post(301)).status).toBe(401);
  });

  it("is another call where the owner says that the sender means identical ones", async () => {
    await using gateway = await start({
      mappings: [
        {
          match: { path: "doorbell" },
          auth: { scheme: "signature", from: "header:x-signature", secret: GITHUB_SECRET, replaySeconds: 0 },
          messageTemplate: "It rang.",
          deliver: false,
        },
      ],
    });
    const headers = { "x-signature": hmac(GITHUB_SECRET, "{}") };
    for (let at = 0; at < 2; at++) {
      expect((await call(gateway, "/hooks/doorbell", { headers, body: "{}" })).status).toBe(202);
    }
    expect(await gateway.deliveries()).toHaveLength(2);
  });
});

describe("alerts whose ids differ in the last digit", () => {
  it("are different deliveries, also where the id is a number beyond 2^53", async () => {
    await using gateway = await start({ presets: ["datadog"], datadog: { secret: GITHUB_SECRET, deliver: false } });
    const headers = { authorization: `Bearer ${GITHUB_SECRET}`, "content-type": "application/json" };
    const ids = ["7301450000000000001", "7301450000000000002", "7301450000000000003"];
    for (const id of ids) {
      const answer = await call(gateway, "/hooks/datadog", { headers, body: `{"id":${id},"title":"CPU"}` });
      expect(answer.status).toBe(200);
    }
    expect((await gateway.deliveries()).filter(({ state }) => state === "duplicate")).toEqual([]);
  });
});

describe("an event that is not for an agent", () => {
  it("is answered 200 and listed as filtered, with the reason", async () => {
    await using gateway = await start();
    const ping = await github(gateway, JSON.stringify({ zen: "Keep it simple.", hook_id: 1 }), { event: "ping" });
    const id = ping.body["deliveryId"];
    expect([ping.status, ping.body]).toEqual([200, { ok: true, deliveryId: id, skipped: "filter" }]);
    expect(await gateway.delivery(id)).toMatchObject({ state: "filtered", runs: [] });
    expect((await gateway.delivery(id)).reason).toMatch(/ping/u);
  });

  it("is answered the same when it comes again", async () => {
    await using gateway = await start();
    const body = JSON.stringify({ zen: "Keep it simple." });
    const first = await github(gateway, body, { event: "ping" });
    expect((await github(gateway, body, { event: "ping" })).text).toBe(first.text);
    expect(await gateway.firsts()).toHaveLength(1);
  });

  it("is one by a bot, so that the agent's own comment does not wake it again", async () => {
    await using gateway = await start();
    const answer = await github(gateway, pushOf("site", "helper[bot]", "Bot"));
    expect(answer.body["skipped"]).toBe("filter");
    expect((await gateway.delivery(answer.body["deliveryId"])).reason).toBe(
      'ignoreBots: the actor "helper[bot]" is a bot',
    );
  });

  it("is one by a sender to be ignored; bots are heard where the owner wants them", async () => {
    await using gateway = await start({
      presets: ["github"],
      github: { secret: GITHUB_SECRET, ignoreActors: ["Reveille-*"], ignoreBots: false, deliver: false },
    });
    const own = await github(gateway, pushOf("site", "reveille-agent"));
    expect((await gateway.delivery(own.body["deliveryId"])).reason).toBe(
      'ignoreActors: "Reveille-*" is the actor "reveille-agent"',
    );
    expect((await github(gateway, pushOf("site", "dependabot[bot]", "Bot"))).status).toBe(200);
  });

  it("is one of a source that no mapping of the path takes: 200, since senders give up on 404", async () => {
    await using gateway = await start({
      mappings: [
        {
          match: { path: "in", source: "a" },
          auth: { scheme: "signature", from: "header:x-signature", secret: GITHUB_SECRET },
          messageTemplate: "a",
          deliver: false,
        },
      ],
    });
    const post = (body: string) =>
      call(gateway, "/hooks/in", { headers: { "x-signature": hmac(GITHUB_SECRET, body) }, body });
    expect((await post('{"source":"a"}')).status).toBe(202);
    const other = await post('{"source":"b"}');
    expect([other.status, other.body["skipped"]]).toEqual([200, "filter"]);
  });
});

describe("a mapping that names a preset", () => {
  it("may override every part of it, and uses the preset's secret", async () => {
    await using gateway = await start({
      github: { secret: GITHUB_SECRET },
      mappings: [
        {
          preset: "github",
          match: { path: "code" },
          messageTemplate: "{{repository.full_name}} moved",
          action: "agent",
          deliver: false,
          ignoreBots: false,
        },
      ],
    });
    const answer = await github(gateway, pushOf("site", "x[bot]", "Bot"), { path: "/hooks/code" });
    expect(await messageOf(gateway, answer.body["deliveryId"])).toBe("acme/site moved");
    expect((await github(gateway, pushOf("site"))).status).toBe(401);
  });

  it("takes forms with JSON in them, as hooks made through the API send them", async () => {
    await using gateway = await start();
    const body = new URLSearchParams({ payload: pushOf("site") }).toString();
    const headers = { ...githubHeaders(body), "content-type": "application/x-www-form-urlencoded" };
    const answer = await call(gateway, "/hooks/github", { headers, body });
    expect(answer.status).toBe(200);
    expect(await messageOf(gateway, answer.body["deliveryId"])).toMatch(/acme\/site/u);
  });
});
