import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MAX_SUBSCRIPTIONS, SubscriptionRecords } from "../../../../src/hosts/embedded/subscriptions/records.ts";
import { CREDENTIALS, FakeCloud } from "../../hosts/embedded/subscriptions/fake-subscriptions.ts";
import { RecordedProcess } from "../recorded-process.ts";

const PUBLIC = "https://gateway.example.com";
let terminal: RecordedProcess;
let cloud: FakeCloud;
let ended: Promise<number> | undefined;

beforeEach(async () => {
  terminal = new RecordedProcess();
  await terminal.run("init");
  const text = readFileSync(terminal.configFile, "utf8");
  writeFileSync(terminal.configFile, text.replace(/hooks:\s*\{/u, `$& publicUrl: "${PUBLIC}", `));
  writeFileSync(beside("cloud.json"), JSON.stringify(CREDENTIALS), { mode: 0o600 });
  await run("config", "set", "gateway.port", "0");
  cloud = new FakeCloud();
  await cloud.sender.start();
});
afterEach(async () => {
  terminal.signals.emit("SIGTERM");
  await ended;
  ended = undefined;
  await cloud.sender.stop();
  terminal.remove();
});

const beside = (name: string): string => join(dirname(terminal.configFile), name);

async function run(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  terminal.out = "";
  terminal.err = "";
  const code = await terminal.run(...args);
  return { code, out: terminal.out, err: terminal.err };
}

function add(name: string, ...more: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const side = ["--credentials-file", beside("cloud.json"), "--api", cloud.sender.url, "--token-url", cloud.tokenUrl];
  return run("add", name, ...side, ...more);
}

function recordFile(): string {
  const folder = beside("state/subscriptions");
  return join(folder, readdirSync(folder)[0]!);
}

describe("reveille add of a sender whose subscriptions end", () => {
  it("makes the subscription, which Graph confirms at the running gateway; the next start renews it, remove ends it", async () => {
    const { url, code } = await terminal.serve();
    ended = code;
    cloud.validate = async (notificationUrl) => {
      const there = `${url}${notificationUrl.slice(PUBLIC.length)}?validationToken=a%20token`;
      const answer = await fetch(there, { method: "POST" });
      return answer.status === 200 && (await answer.text()) === "a token";
    };
    const added = await add("microsoft-graph", "--url", url);
    expect(added).toMatchObject({ code: 0, err: "" });
    expect(added.out).toContain(
      `Microsoft Graph calls ${PUBLIC}/hooks/microsoft-graph from now on: a subscription of me/`,
    );
    const [[id, watch] = ["", undefined]] = cloud.watches;
    expect(watch?.body).toMatchObject({ clientState: readFileSync(beside("microsoft-graph-secret"), "utf8").trim() });
    terminal.signals.emit("SIGTERM");
    await ended;

    const kept = JSON.parse(readFileSync(recordFile(), "utf8")) as { expiresAt: number; begunAt: number };
    const earlier = { ...kept, begunAt: kept.begunAt - 10 * 86_400_000, expiresAt: Date.now() + 60_000 };
    writeFileSync(recordFile(), JSON.stringify(earlier));
    for (const secret of [CREDENTIALS.client_secret, CREDENTIALS.refresh_token]) {
      expect(readFileSync(recordFile(), "utf8")).not.toContain(secret);
    }
    ended = (await terminal.serve()).code;
    await expect.poll(() => cloud.sender.lines.at(-1)).toBe(`PATCH /v1.0/subscriptions/${id}`);
    await expect
      .poll(() => (JSON.parse(readFileSync(recordFile(), "utf8")) as typeof kept).expiresAt)
      .toBe(watch?.expiresAt);

    cloud.refreshToken = "another";
    writeFileSync(recordFile(), JSON.stringify(earlier));
    terminal.signals.emit("SIGTERM");
    await ended;
    terminal.out = "";
    const started = await terminal.serve();
    ended = started.code;
    const noticed = async (): Promise<string> => (await run("sessions", "show", "main", "--url", started.url)).out;
    await expect.poll(noticed).toContain("The subscription of microsoft-graph could not be renewed, and ends at ");
    cloud.refreshToken = CREDENTIALS.refresh_token;

    const removed = await run("remove", "microsoft-graph");
    expect(removed).toMatchObject({ code: 0, err: "" });
    expect(removed.out).toContain("The subscription of me/mailFolders('Inbox')/messages has ended.");
    expect([cloud.watches.size, readdirSync(beside("state/subscriptions"))]).toEqual([0, []]);
  });

  it.skipIf(process.getuid?.() !== 0)("as root leaves its record to the owner of the configuration", async () => {
    const nobody = 65_534;
    chownSync(terminal.configFile, nobody, nobody);
    expect(await add("google-calendar", "--resource", "ada@example.com")).toMatchObject({ code: 0 });
    for (const path of [beside("state"), dirname(recordFile()), recordFile()]) expect(statSync(path).uid).toBe(nobody);
  });

  it.skipIf(process.getuid?.() !== 0)(
    "as root leaves its record to the owner of the state, who is the gateway",
    async () => {
      const nobody = 65_534;
      chownSync(terminal.configFile, 0, nobody);
      chmodSync(terminal.configFile, 0o640);
      mkdirSync(beside("state"), { mode: 0o700 });
      chownSync(beside("state"), nobody, nobody);
      expect(await add("google-calendar", "--resource", "ada@example.com")).toMatchObject({ code: 0 });
      const made = [dirname(recordFile()), recordFile()].map((path) => statSync(path));
      expect(made.map(({ uid, mode }) => [uid, mode & 0o777])).toEqual([
        [nobody, 0o700],
        [nobody, 0o600],
      ]);
    },
  );

  it("takes the place of the one before when it is given again, and says what it could not end", async () => {
    await add("google-calendar", "--resource", "ada@example.com");
    const again = await add("google-calendar", "--resource", "ada@example.com");
    expect(again).toMatchObject({ code: 0, err: "" });
    expect(again.out).toContain("a subscription of ada@example.com until ");
    expect(cloud.watches.size).toBe(1);
    cloud.refreshToken = "another";
    const removed = await run("remove", "google-calendar");
    expect(removed.code).toBe(0);
    expect(removed.out).toContain("(invalid_grant; Token has been expired or revoked.)");
    expect(removed.out).toContain("It is renewed no more, and ends by itself at ");
    expect(readdirSync(beside("state/subscriptions"))).toEqual([]);
  });

  it("names what is missing before it does anything, and what the sender said afterwards", async () => {
    expect((await run("add", "google-calendar", "--resource", "x")).err).toContain("--credentials-file FILE");
    const settings = ["--set", "audience=https://a.example", "--set", "serviceAccount=a@b.iam.gserviceaccount.com"];
    expect((await add("gmail-push", ...settings)).err).toContain("--resource projects/<project>/topics/<topic>");
    expect(existsSync(beside("google-calendar-secret"))).toBe(false);
    const refused = await add("gmail-push", ...settings, "--resource", "gmail");
    expect([refused.code, existsSync(beside("state/subscriptions"))]).toEqual([1, false]);
    expect(refused.err).toContain(
      "Gmail was asked to watch the mailbox with the topic gmail and answered 400 (Invalid topicName).",
    );
    expect(await add("gmail-push", "--resource", "projects/acme/topics/gmail")).toMatchObject({ code: 0, err: "" });
    expect(cloud.watches.has("mailbox")).toBe(true);
  });

  it("refuses one more than the gateway renews, and asks the sender for nothing", async () => {
    const records = new SubscriptionRecords(beside("state"));
    const common = { sender: "other", preset: "gmail-push", api: "a", tokenUrl: "b", credentials: "c", secret: null };
    for (let at = 0; at < MAX_SUBSCRIPTIONS; at++) {
      const ends = { id: "watch", begunAt: Date.now(), expiresAt: Date.now() };
      records.save({ ...common, url: "u", resource: `projects/acme/topics/${at}`, events: [], ...ends });
    }
    const { code, err } = await add("google-calendar", "--resource", "one-more@example.com");
    expect([code, err]).toEqual([1, expect.stringContaining(`at most ${MAX_SUBSCRIPTIONS} subscriptions`)]);
    expect(cloud.sender.calls).toEqual([]);
  });
});
