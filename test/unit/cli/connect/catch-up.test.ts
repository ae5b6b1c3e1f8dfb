import { createHmac } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RecordedProcess } from "../recorded-process.ts";
import { fakeStripe, GITHUB_TOKEN, STRIPE_KEY } from "./fake-apis.ts";
import { type FakeAnswer, FakeSender, type SeenCall } from "./fake-sender.ts";

const PUBLIC = "https://gateway.example.com";
const HOOKS = "/repos/acme/web/hooks";
const MINUTE = 60_000;
let terminal: RecordedProcess;
let fake: FakeSender | undefined;
let url = "";
let ended: Promise<number> | undefined;

beforeEach(async () => {
  terminal = new RecordedProcess();
  await terminal.run("init");
  const text = readFileSync(terminal.configFile, "utf8");
  writeFileSync(terminal.configFile, text.replace(/hooks:\s*\{/u, `$& publicUrl: "${PUBLIC}", `));
  Object.assign(terminal.env, { HUB: GITHUB_TOKEN, KEY: STRIPE_KEY });
  await printed("config", "set", "gateway.port", "0");
});
afterEach(async () => {
  terminal.signals.emit("SIGTERM");
  await ended;
  await fake?.stop();
  fake = undefined;
  terminal.remove();
});

async function run(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  terminal.out = "";
  terminal.err = "";
  const code = await terminal.run(...args);
  return { code, out: terminal.out, err: terminal.err };
}

async function printed(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await run(...args);
  expect([code, err]).toEqual([0, ""]);
  return out;
}

async function serve(): Promise<void> {
  const started = await terminal.serve();
  url = started.url;
  ended = started.code;
}

const secretOf = (name: string): string =>
  readFileSync(join(dirname(terminal.configFile), `${name}-secret`), "utf8").trim();

interface Report {
  readonly taken: number;
  readonly here: number;
  readonly missed: number;
  readonly problem?: string;
  readonly calls: readonly { readonly id: string; readonly event: string; readonly outcome: string }[];
}

async function caughtUp(name: string, ...more: readonly string[]): Promise<Report & { code: number }> {
  const { code, out } = await run("catch-up", name, "--since", "2h", "--url", url, "--json", ...more);
  return { code, ...(JSON.parse(out) as Report) };
}

async function deliveries(): Promise<readonly { state: string; event: string }[]> {
  const out = await printed("deliveries", "list", "--limit", "1000", "--url", url, "--json");
  return (JSON.parse(out) as { deliveries: { state: string; event: string }[] }).deliveries;
}

/** Attempts of GitHub at a webhook, the newest first, as its API lists them; a redelivery is made at once. */
class FakeHub {
  readonly attempts: Readonly<Record<string, unknown>>[] = [];
  /** Where redeliveries go; `undefined`: no one answers. */
  target: string | undefined;
  secret = "";

  /** A call and its first attempt, or one that someone asked for. */
  add(guid: string, status: number, minutesAgo: number, { isRepeat = false } = {}): void {
    this.#push({ guid, status, minutesAgo, isRepeat });
  }

  #push({
    guid,
    status,
    minutesAgo,
    isRepeat,
  }: {
    guid: string;
    status: number;
    minutesAgo: number;
    isRepeat: boolean;
  }) {
    this.attempts.unshift({
      id: 5_000 + this.attempts.length,
      guid,
      delivered_at: new Date(Date.now() - minutesAgo * MINUTE).toISOString(),
      redelivery: isRepeat,
      status: status === 0 ? "timed out" : status === 200 ? "OK" : "Bad Gateway",
      status_code: status,
      event: guid.startsWith("ping") ? "ping" : "issues",
      action: guid.startsWith("ping") ? null : "opened",
    });
  }

  async deliver(guid: string): Promise<number> {
    if (this.target === undefined) return 502;
    const issue = { number: 7, title: guid, html_url: "https://github.com/acme/web/issues/7", user: { login: "ada" } };
    const repository = { full_name: "acme/web" };
    const body = JSON.stringify({ action: "opened", issue, repository, sender: { login: "ada", type: "User" } });
    const signature = createHmac("sha256", this.secret).update(body).digest("hex");
    const { status } = await fetch(this.target, {
      method: "POST",
      body,
      headers: {
        "content-type": "application/json",
        "x-github-event": "issues",
        "x-github-delivery": guid,
        "x-hub-signature-256": `sha256=${signature}`,
      },
    });
    return status;
  }

  async answer({ method, path, query, headers, body }: SeenCall): Promise<FakeAnswer> {
    if (headers.authorization !== `Bearer ${GITHUB_TOKEN}`)
      return { status: 401, body: { message: "Bad credentials" } };
    if (path === HOOKS && method === "GET") return { status: 200, body: [] };
    if (path === HOOKS) return { status: 201, body: { ...(JSON.parse(body) as object), id: 7 } };
    if (path === `${HOOKS}/7/deliveries` && method === "GET") {
      const from = Number(query.get("cursor") ?? 0);
      const to = from + Number(query.get("per_page"));
      const link = `<https://elsewhere.example.com/x?per_page=100&cursor=${to}>; rel="next", <https://a.example>; rel="first"`;
      return {
        status: 200,
        body: this.attempts.slice(from, to),
        headers: to < this.attempts.length ? { link } : {},
      };
    }
    const [, id] = /\/7\/deliveries\/(\d+)\/attempts$/u.exec(path) ?? [];
    const known = this.attempts.find((each) => String(each["id"]) === id);
    if (method !== "POST" || known === undefined) return { status: 404, body: { message: "Not Found" } };
    const guid = String(known["guid"]);
    this.#push({ guid, status: await this.deliver(guid), minutesAgo: 0, isRepeat: true });
    return { status: 202, body: {} };
  }
}

describe("reveille catch-up github", () => {
  it("has GitHub deliver again what is not here, from every page, and takes nothing the second time", async () => {
    const hub = new FakeHub();
    fake = await new FakeSender((call) => hub.answer(call)).start();
    await printed("add", "github", "--repo", "acme/web", "--token-env", "HUB", "--api", fake.url);
    hub.secret = secretOf("github");
    await serve();
    hub.target = `${url}/hooks/github`;
    hub.add("too-old", 502, 180);
    hub.add("missed-first", 502, 100);
    for (let at = 0; at < 130; at++) hub.add(`delivered-${at}`, 200, 90);
    hub.add("ping-failed", 502, 80);
    hub.add("here-before", 0, 70);
    hub.add("missed-last", 502, 60);
    // Its first attempt, before --since, may have been taken.
    hub.add("older", 502, 50, { isRepeat: true });
    expect(await hub.deliver("here-before")).toBe(200);

    const planned = await caughtUp("github", "--token-env", "HUB", "--dry-run");
    expect(planned).toMatchObject({ code: 0, missed: 3, here: 1, taken: 0 });
    expect(planned.calls.map(({ id, outcome }) => [id, outcome])).toEqual([
      ["missed-first", "would be taken"],
      ["here-before", "is here"],
      ["missed-last", "would be taken"],
    ]);
    expect(fake.lines.filter((line) => line.endsWith("/attempts"))).toEqual([]);

    const taken = await caughtUp("github", "--token-env", "HUB", "--yes");
    expect(taken).toMatchObject({ code: 0, missed: 3, here: 1, taken: 2 });
    const asked = fake.lines.filter((line) => line.endsWith("/attempts")).length;
    expect([asked, (await deliveries()).length]).toEqual([2, 3]);
    expect((await deliveries()).map(({ event }) => event)).toEqual(Array(3).fill("issues.opened"));

    expect(await caughtUp("github", "--token-env", "HUB", "--yes")).toMatchObject({
      code: 0,
      missed: 1,
      here: 1,
      taken: 0,
    });
    expect([fake.lines.filter((line) => line.endsWith("/attempts")).length, (await deliveries()).length]).toEqual([
      2, 3,
    ]);
    // What is fetched next is the cursor alone, at the address that the owner gave.
    expect(fake.calls.some(({ query }) => query.get("cursor") === "100")).toBe(true);
  });

  it("says what is left when GitHub takes no more calls, and which calls are refused once more", async () => {
    const hub = new FakeHub();
    fake = await new FakeSender((call) => {
      const asked = fake!.lines.filter((line) => line.endsWith("/attempts")).length;
      if (call.path.endsWith("/attempts") && asked === 2) {
        return { status: 403, headers: { "retry-after": "60" }, body: { message: "secondary rate limit" } };
      }
      return hub.answer(call);
    }).start();
    await printed("add", "github", "--repo", "acme/web", "--token-env", "HUB", "--api", fake.url);
    await serve();
    hub.add("first", 502, 20);
    hub.add("second", 502, 10);
    const report = await caughtUp("github", "--token-env", "HUB", "--yes");
    expect(report).toMatchObject({ code: 1, taken: 0 });
    expect(report.calls.map(({ outcome }) => outcome)).toEqual(["refused: 502 Bad Gateway", "left"]);
    expect(report.problem).toContain("It takes no more calls for now: try again in 60 seconds.");
  });

  it("asks before it takes, and needs a running gateway, a place and a time", async () => {
    const hub = new FakeHub();
    fake = await new FakeSender((call) => hub.answer(call)).start();
    await printed("add", "github");
    const args = ["catch-up", "github", "--token-env", "HUB", "--api", fake.url, "--since", "2h"];
    expect((await run(...args)).err).toContain("Look at them with --dry-run first, then add --yes.");
    expect((await run(...args, "--yes", "--url", "http://127.0.0.1:9")).err).toContain("Is it running?");
    await serve();
    expect((await run(...args, "--yes", "--url", url)).err).toContain("Say where at GitHub: --repo owner/name");
    const there = [...args, "--repo", "acme/web", "--url", url];
    expect((await run(...there, "--yes")).err).toContain(`acme/web has no webhook that calls ${PUBLIC}/hooks/github`);
    expect((await run(...there, "--yes", "--since", "soon")).err).toContain(
      "--since must be a time such as 2026-02-27",
    );
    await printed("add", "github", "--repo", "acme/web", "--token-env", "HUB", "--api", fake.url, "--url", url);
    hub.add("first", 502, 20);
    terminal.answers = [false];
    const declined = await run(...there);
    expect(declined).toMatchObject({ code: 1, out: "" });
    expect(declined.err).toContain("1 would be taken. Continue?\nNothing was taken.");
    expect((await run("catch-up", "gitlab", "--since", "1h", "--yes", "--url", url)).err).toContain("add gitlab");
  });
});

describe("reveille catch-up stripe", () => {
  const event = (at: number, type = "invoice.payment_failed"): Readonly<Record<string, unknown>> => ({
    id: `evt_${at}`,
    object: "event",
    type,
    created: Math.floor(Date.now() / 1_000) - at * 60,
    data: { object: { id: `in_${at}`, object: "invoice", amount_due: 4900, currency: "eur" } },
    livemode: false,
    pending_webhooks: 1,
  });

  /** As https://docs.stripe.com/api/events/list describes it. */
  function eventsOf(events: readonly Readonly<Record<string, unknown>>[]): (call: SeenCall) => FakeAnswer {
    return ({ method, path, query }) => {
      if (method !== "GET" || path !== "/v1/events" || query.get("delivery_success") !== "false")
        return { status: 404 };
      const since = Number(query.get("created[gte]"));
      const from = events.findIndex(({ id }) => id === query.get("starting_after")) + 1;
      const listed = events.slice(from).filter(({ created }) => Number(created) >= since);
      const data = listed.slice(0, Number(query.get("limit")));
      return { status: 200, body: { object: "list", data, has_more: listed.length > data.length } };
    };
  }

  it("signs what is not here and posts it to the hook, from every page, and takes nothing the second time", async () => {
    const ignored = Array.from({ length: 120 }, (_, at) => event(1_000 + at, "charge.succeeded"));
    const recent = ignored.map((each, at) => ({ ...each, created: Math.floor(Date.now() / 1_000) - 600 - at }));
    const events = [event(1), event(2), ...recent, event(100), event(500)];
    fake = await fakeStripe(new Map(), eventsOf(events)).start();
    await printed("add", "stripe", "--token-env", "KEY", "--api", fake.url);
    await serve();
    const first = await caughtUp("stripe", "--token-env", "KEY", "--yes");
    expect(first).toMatchObject({ code: 0, missed: 3, here: 0, taken: 3 });
    expect(first.calls.map(({ id, outcome }) => [id, outcome])).toEqual([
      ["evt_100", "taken"],
      ["evt_2", "taken"],
      ["evt_1", "taken"],
    ]);
    expect((await deliveries()).map(({ event: name }) => name)).toEqual(Array(3).fill("invoice.payment_failed"));
    expect(await caughtUp("stripe", "--token-env", "KEY", "--yes")).toMatchObject({
      code: 0,
      missed: 3,
      here: 3,
      taken: 0,
    });
    expect(await deliveries()).toHaveLength(3);
    const shown = await printed("catch-up", "stripe", "--since", "2h", "--url", url, "--token-env", "KEY", "--dry-run");
    expect(shown).toMatch(/evt_100 +invoice\.payment_failed +not delivered +is here/u);
    expect(shown).toContain("Not delivered by Stripe: 3 since ");
  });

  it("stops at the first call whose signature the gateway does not accept", async () => {
    fake = await fakeStripe(new Map(), eventsOf([event(1), event(2)])).start();
    await printed("add", "stripe", "--token-env", "KEY", "--api", fake.url);
    await serve();
    const file = join(dirname(terminal.configFile), "stripe-secret");
    writeFileSync(file, "whsec_another0secret0that0the0gateway0has0not0read\n");
    const report = await caughtUp("stripe", "--token-env", "KEY", "--yes");
    expect(report).toMatchObject({
      code: 1,
      taken: 0,
      problem: expect.stringContaining("did not accept the signature"),
    });
    expect(report.calls.map(({ outcome }) => outcome)).toEqual(["left", "left"]);
    expect(await deliveries()).toEqual([]);
  });
});
