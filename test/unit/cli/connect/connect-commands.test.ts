import { existsSync, mkdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type KeptRegistration, Registrations } from "../../../../src/cli/connect/registrations.ts";
import { storedSecret } from "../../../../src/cli/connect/sender-secret.ts";
import { RecordedProcess } from "../recorded-process.ts";
import {
  fakeGithub,
  fakeStripe,
  fakeTelegram,
  GITHUB_TOKEN,
  STRIPE_KEY,
  STRIPE_SECRET,
  TELEGRAM_TOKEN,
} from "./fake-apis.ts";
import type { FakeSender } from "./fake-sender.ts";

const PUBLIC = "https://gateway.example.com";
const GITHUB_URL = `${PUBLIC}/hooks/github`;
let terminal: RecordedProcess;
let fake: FakeSender | undefined;

beforeEach(async () => {
  terminal = new RecordedProcess();
  await terminal.run("init");
  const text = readFileSync(terminal.configFile, "utf8");
  writeFileSync(terminal.configFile, text.replace(/hooks:\s*\{/u, `$& publicUrl: "${PUBLIC}", `));
  Object.assign(terminal.env, { HUB: GITHUB_TOKEN, KEY: STRIPE_KEY, BOT: TELEGRAM_TOKEN });
});
afterEach(async () => {
  await fake?.stop();
  fake = undefined;
  terminal.remove();
});

const beside = (name: string): string => join(dirname(terminal.configFile), name);
const secretOf = (name: string): string => readFileSync(beside(`${name}-secret`), "utf8").trim();

async function run(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  terminal.out = "";
  terminal.err = "";
  const code = await terminal.run(...args);
  return { code, out: terminal.out, err: terminal.err };
}

const github = (...more: readonly string[]): readonly string[] => [
  "add",
  "github",
  "--repo",
  "acme/web",
  "--token-env",
  "HUB",
  "--api",
  fake!.url,
  ...more,
];

describe("reveille add", () => {
  it("registers the webhook at GitHub, keeps its id and not the token, and remove deletes it there", async () => {
    const hooks = new Map<number, Readonly<Record<string, unknown>>>();
    fake = await fakeGithub(hooks).start();
    const added = await run(...github("--events", "issues,release"));
    expect(added).toMatchObject({ code: 0, err: "" });
    expect(added.out).toContain(`GitHub calls ${GITHUB_URL} from now on: webhook 7 of acme/web, for issues, release.`);
    expect(added.out).not.toContain(secretOf("github"));
    expect(hooks.get(7)).toMatchObject({ config: { url: GITHUB_URL, secret: secretOf("github") } });
    const kept = readFileSync(beside("registrations.json"), "utf8");
    expect(statSync(beside("registrations.json")).mode & 0o777).toBe(0o600);
    expect(JSON.parse(kept)).toEqual({
      registrations: [
        {
          sender: "github",
          preset: "github",
          api: fake.url,
          id: "7",
          url: GITHUB_URL,
          place: { kind: "repo", name: "acme/web" },
        },
      ],
    });
    for (const text of [kept, added.out, readFileSync(terminal.configFile, "utf8")]) {
      expect(text).not.toContain(GITHUB_TOKEN);
    }
    const removed = await run("remove", "github", "--token-env", "HUB");
    expect(removed).toMatchObject({ code: 0, err: "" });
    expect(removed.out).toContain("The webhook 7 of acme/web is deleted at the sender.");
    expect([hooks.size, existsSync(beside("github-secret"))]).toEqual([0, false]);
    expect((await run("remove", "github")).err).toContain('There is no sender "github" in');
  });

  it("leaves no webhook at the sender of which no record can be kept", async () => {
    const endpoints = new Map<string, { url: string; events: readonly string[] }>();
    fake = await fakeStripe(endpoints).start();
    const draft = beside(`registrations.json.${process.pid}.tmp`);
    mkdirSync(draft);
    const stripe = ["add", "stripe", "--token-env", "KEY", "--api", fake.url];
    expect(await run(...stripe)).toMatchObject({ code: 1, out: "" });
    expect(endpoints.size).toBe(0);
    rmdirSync(draft);
    expect(await run(...stripe)).toMatchObject({ code: 0, err: "" });
    expect([endpoints.size, secretOf("stripe")]).toEqual([1, STRIPE_SECRET]);
  });

  it("gives the token of one server of a sender to no other", async () => {
    const [public_, own] = [
      await fakeGithub(new Map()).start(),
      await fakeGithub(new Map(), "/repos/acme/own/hooks").start(),
    ];
    fake = public_;
    try {
      await run(...github());
      fake = own;
      await run(...github("--repo", "acme/own"));
      for (const each of [public_, own]) each.calls.length = 0;
      const missed = ["catch-up", "github", "--since", "2h", "--yes", "--token-env", "HUB", "--repo", "acme/own"];
      const { url, code } = await terminal.serve();
      await run(...missed, "--url", url);
      terminal.signals.emit("SIGTERM");
      await code;
      expect([public_.calls.length, own.calls.length > 0]).toEqual([0, true]);
      own.calls.length = 0;
      const first = await run("remove", "github", "--token-env", "HUB");
      expect(first.out).toContain("webhook 7 of acme/own is still registered at the sender");
      expect([public_.lines.at(-1), own.calls.length]).toEqual(["DELETE /repos/acme/web/hooks/7", 0]);
      expect((await run("remove", "github", "--token-env", "HUB")).out).toContain("acme/own is deleted at the sender");
    } finally {
      await public_.stop();
    }
  });

  it("says that the file of the token is empty", async () => {
    writeFileSync(beside("token"), "\n");
    const added = await run("add", "github", "--repo", "acme/web", "--token-file", beside("token"));
    expect([added.code, added.err]).toEqual([1, `${beside("token")} is empty.\n`]);
  });

  it("prints what the sender says of its webhook without what a terminal would obey", async () => {
    fake = await fakeGithub(new Map()).start();
    fake.instead.push({ status: 200, body: [] }, { status: 201, body: { id: 7, events: ["issues\u001B[2J"] } });
    expect((await run(...github())).out).toContain("webhook 7 of acme/web, for issues�[2J.\n");
  });

  it("leaves both ends where another part of the configuration needs the sender", async () => {
    const hooks = new Map<number, Readonly<Record<string, unknown>>>();
    fake = await fakeGithub(hooks).start();
    await run(...github());
    await run("config", "set", "hooks.mappings", '[{ preset: "github", match: { path: "releases" } }]');
    const kept = readFileSync(beside("registrations.json"), "utf8");
    const removed = await run("remove", "github", "--token-env", "HUB");
    expect([removed.code, removed.out]).toEqual([1, ""]);
    expect(removed.err).toContain("hooks.mappings[0].secret: is required by the preset github");
    expect([hooks.size, readFileSync(beside("registrations.json"), "utf8")]).toEqual([1, kept]);
    expect(secretOf("github")).not.toBe("");
  });

  it("says what was done and what was not when the API refuses, and finishes when it is given again", async () => {
    const hooks = new Map<number, Readonly<Record<string, unknown>>>();
    fake = await fakeGithub(hooks).start();
    fake.instead.push({ status: 403, body: { message: "Resource not accessible by personal access token" } });
    const first = await run(...github());
    expect(first.code).toBe(1);
    expect(first.out).toContain(`GitHub is in ${terminal.configFile}, and its Secret in`);
    expect(first.err).toContain(
      "answered 403 (Resource not accessible by personal access token). The token may not do",
    );
    expect(first.err).toContain("The webhook is not registered. Give the command again when that is mended");
    expect(existsSync(beside("registrations.json"))).toBe(false);
    const secret = secretOf("github");
    expect(await run(...github())).toMatchObject({ code: 0, err: "" });
    expect(hooks.get(7)).toMatchObject({ config: { secret } });
    const again = await run(...github("--json"));
    expect(JSON.parse(again.out)).toMatchObject({
      sender: "github",
      webhook: { id: "7", isNew: false },
      problem: null,
    });
    expect(hooks.size).toBe(1);
    await run("config", "set", "hooks.publicUrl", "https://moved.example.com");
    expect((await run(...github())).out).toContain("webhook 7 of acme/web was there and is updated");
    expect([hooks.size, hooks.get(7)]).toEqual([
      1,
      expect.objectContaining({ config: expect.objectContaining({ url: "https://moved.example.com/hooks/github" }) }),
    ]);
  });

  it("asks a person where and for the token, which is read hidden, and steps are printed where none is given", async () => {
    const hooks = new Map<number, Readonly<Record<string, unknown>>>();
    fake = await fakeGithub(hooks, "/api/v3/repos/acme/web/hooks").start();
    terminal.typed = ["acme/web", GITHUB_TOKEN];
    expect(await run("add", "github", "--api", `${fake.url}/api/v3/`)).toMatchObject({ code: 0, err: "" });
    expect(hooks.size).toBe(1);
    terminal.typed = [""];
    const byHand = await run("add", "gitlab");
    expect(byHand.out).toContain(`URL: ${PUBLIC}/hooks/gitlab`);
    expect(byHand.out).toContain(secretOf("gitlab"));
    terminal.typed = [""];
    expect((await run("add", "telegram", "--replace")).err).toContain("Give the token for Telegram");
  });

  it("writes the secret that Stripe makes, and takes the endpoint back where the file would not be valid", async () => {
    const endpoints = new Map<string, { url: string; events: readonly string[] }>();
    fake = await fakeStripe(endpoints).start();
    const args = ["add", "stripe", "--token-env", "KEY", "--api", fake.url];
    const before = readFileSync(terminal.configFile, "utf8");
    const refused = await run(...args, "--set", "nosuch=1");
    expect([refused.code, endpoints.size, existsSync(beside("stripe-secret"))]).toEqual([1, 0, false]);
    expect(refused.err).toContain("hooks.stripe.nosuch");
    expect(readFileSync(terminal.configFile, "utf8")).toBe(before);
    const added = await run(...args, "--set", "path=money");
    expect(added).toMatchObject({ code: 0, err: "" });
    expect([secretOf("stripe"), [...endpoints.values()][0]?.url]).toEqual([STRIPE_SECRET, `${PUBLIC}/hooks/money`]);
    expect(added.out).not.toContain(STRIPE_SECRET);
    expect((await run("check")).out).toContain("is valid.");
  });

  it("refuses options that do not fit before it does anything", async () => {
    fake = await fakeTelegram({ url: "" }).start();
    const refusals: readonly (readonly [string, ...string[]])[] = [
      ["GitHub takes --repo owner/name or --org name, and not --project", "github", "--project", "a/b"],
      ["Say where at GitHub: --repo owner/name or --org name", "github", "--token-env", "HUB"],
      ['"acme" is no repo; write --repo owner/name', "github", "--repo", "acme", "--token-env", "HUB"],
      ['"a/.." is no repo', "github", "--repo", "a/..", "--token-env", "HUB"],
      ["The variable NOSUCH is not set or empty.", "github", "--repo", "a/b", "--token-env", "NOSUCH"],
      ["Give the token for Telegram in a variable or a file", "telegram", "--replace"],
      ["--api must begin with https://", "telegram", "--token-env", "BOT", "--api", "http://192.0.2.1"],
      ["Svix is registered by hand", "svix", "--token-env", "BOT"],
    ];
    for (const [message, ...args] of refusals) {
      const { code, err } = await run("add", ...args);
      expect([code, err]).toEqual([1, expect.stringContaining(message)]);
    }
    await run("config", "unset", "hooks.publicUrl");
    const { err } = await run("add", "telegram", "--token-env", "BOT", "--api", fake.url);
    expect(err).toContain("Telegram cannot be given a URL: hooks.publicUrl is not set. Set it first:");
    await run("config", "set", "gateway.expose", '{ via: "command", command: ["true"] }');
    const unknown = await run("add", "telegram", "--token-env", "BOT", "--api", fake.url);
    expect(unknown.err).toContain("gateway.expose has not given a public URL yet. Start the gateway first.");
    expect(fake.calls).toEqual([]);
    expect(existsSync(beside("telegram-secret"))).toBe(false);
  });
});

describe("reveille remove", () => {
  it("keeps both ends where the sender refuses, and takes away this one where no token is given", async () => {
    const bot = { url: "" };
    fake = await fakeTelegram(bot).start();
    expect(await run("add", "telegram", "--token-env", "BOT", "--api", fake.url)).toMatchObject({ code: 0 });
    fake.instead.push({ status: 500 });
    const refused = await run("remove", "telegram", "--token-env", "BOT");
    expect(refused.code).toBe(1);
    expect(refused.err).toContain("The fault is at Telegram: try again later.\ntelegram stays in the configuration.");
    expect(existsSync(beside("telegram-secret"))).toBe(true);
    const here = await run("remove", "telegram");
    expect(here.out).toContain("The webhook of the bot 700100 is still registered at the sender.");
    expect(here.out).toContain("delete it with reveille remove telegram --token-env NAME");
    expect(bot.url).toBe(`${PUBLIC}/hooks/telegram`);
    const there = await run("remove", "telegram", "--token-env", "BOT", "--json");
    expect(JSON.parse(there.out)).toMatchObject({ secretRemoved: false, webhooks: [{ outcome: "deleted" }] });
    expect(bot.url).toBe("");
  });
});

describe("two commands at once", () => {
  it("keep the records of both", () => {
    const record = (id: string): KeptRegistration => ({
      sender: "github",
      preset: "github",
      api: "https://api.github.com",
      id,
      place: { kind: "repo", name: "acme/web" },
      url: GITHUB_URL,
    });
    const [one, other] = [Registrations.beside(terminal.configFile), Registrations.beside(terminal.configFile)];
    one.add(record("1"));
    other.add(record("2"));
    one.delete(record("1"));
    expect(Registrations.beside(terminal.configFile).of("github")).toEqual([record("2")]);
  });

  it("leave the secret to the one that has written it", () => {
    const place = { path: beside("github-secret"), configFile: terminal.configFile };
    const [one, other] = ["a", "b"].map((value) => storedSecret("github", place, value.repeat(40)));
    one!.store();
    expect(() => other!.store()).toThrow("EEXIST");
    other!.discard();
    expect(secretOf("github")).toBe("a".repeat(40));
    one!.discard();
    expect(existsSync(place.path)).toBe(false);
  });
});
