import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type SubscriptionRecord,
  SubscriptionRecords,
} from "../../../../../src/hosts/embedded/subscriptions/records.ts";
import { endSubscription, SubscriptionRenewal } from "../../../../../src/hosts/embedded/subscriptions/renewal.ts";
import { recordingLogger } from "../server/recording-logger.ts";
import { CREDENTIALS, FakeCloud } from "./fake-subscriptions.ts";

const DAY = 86_400_000;
let stateDir: string;
let cloud: FakeCloud;
let records: SubscriptionRecords;
let now = 0;
let notices: string[];
let renewal: SubscriptionRenewal;

beforeEach(async () => {
  stateDir = mkdtempSync(join(tmpdir(), "reveille-renewal-"));
  cloud = new FakeCloud();
  await cloud.sender.start();
  records = new SubscriptionRecords(stateDir);
  now = Date.now();
  notices = [];
  renewal = makeRenewal();
  writeFileSync(join(stateDir, "credentials.json"), JSON.stringify(CREDENTIALS), { mode: 0o600 });
  writeFileSync(join(stateDir, "secret"), "secret-of-the-channel\n", { mode: 0o600 });
});
afterEach(async () => {
  await renewal.stop();
  await cloud.sender.stop();
  rmSync(stateDir, { recursive: true });
});

function makeRenewal(): SubscriptionRenewal {
  return new SubscriptionRenewal({
    stateDir,
    clock: { now: () => now },
    logger: recordingLogger(),
    env: {},
    outages: () => ({
      failed: async (_subject, text, failure) => void notices.push(`${text} [${failure?.detail}]`),
      works: async (_subject, text) => void (notices.length > 0 && notices.push(text ?? "")),
    }),
  });
}

/** One that was made some days ago and lasts for three. */
function record(preset: string, resource: string, more: Partial<SubscriptionRecord> = {}): SubscriptionRecord {
  return {
    sender: preset,
    preset,
    api: cloud.sender.url,
    tokenUrl: cloud.tokenUrl,
    credentials: join(stateDir, "credentials.json"),
    secret: { file: join(stateDir, "secret") },
    url: "https://gateway.example.com/hooks/it",
    resource,
    events: ["created"],
    id: "made-before",
    begunAt: now - 2.5 * DAY,
    expiresAt: now + 0.5 * DAY,
    ...more,
  };
}

const graph = (more: Partial<SubscriptionRecord> = {}): SubscriptionRecord =>
  record("microsoft-graph", "me/mailFolders('Inbox')/messages", more);

describe("the renewal of subscriptions", () => {
  it("renews one of Microsoft Graph when two thirds of its time have passed, and not before", async () => {
    cloud.watches.set("made-before", { body: {}, expiresAt: now });
    records.save(graph({ begunAt: now - 1.5 * DAY, expiresAt: now + 1.5 * DAY }));
    await renewal.renewDue();
    expect(cloud.sender.lines).toEqual([]);
    now += 0.6 * DAY;
    await renewal.renewDue();
    expect(cloud.sender.lines).toEqual(["POST /common/oauth2/v2.0/token", "PATCH /v1.0/subscriptions/made-before"]);
    const [renewed] = records.all();
    expect(renewed).toMatchObject({
      id: "made-before",
      begunAt: now,
      expiresAt: cloud.watches.get("made-before")?.expiresAt,
    });
    await renewal.renewDue();
    expect(cloud.sender.calls).toHaveLength(2);
    expect(notices).toEqual([]);
  });

  it("makes one of Microsoft Graph once more when it is gone, with the secret where it is today", async () => {
    records.save(graph({ expiresAt: now - DAY }));
    await renewal.renewDue();
    const [made] = records.all();
    expect(made?.id).toMatch(/^7f1c5a30-/u);
    expect(cloud.watches.get(made!.id)?.body).toMatchObject({
      changeType: "created",
      clientState: "secret-of-the-channel",
      notificationUrl: "https://gateway.example.com/hooks/it",
      resource: "me/mailFolders('Inbox')/messages",
    });
  });

  it("watches a mailbox again, and puts another channel of a calendar in the place of the one that ends", async () => {
    cloud.watches.set("channel-before", { body: {}, expiresAt: now });
    records.save(record("gmail-push", "projects/acme/topics/gmail", { events: ["INBOX"], secret: null }));
    records.save(record("google-calendar", "ada@example.com", { id: "channel-before", resourceId: "resource-1" }));
    await renewal.renewDue();
    expect(cloud.watches.get("mailbox")?.body).toEqual({
      topicName: "projects/acme/topics/gmail",
      labelIds: ["INBOX"],
    });
    const channel = records.all().find(({ preset }) => preset === "google-calendar");
    expect(cloud.watches.has("channel-before")).toBe(false);
    expect(cloud.watches.get(channel!.id)?.body).toMatchObject({
      type: "web_hook",
      address: "https://gateway.example.com/hooks/it",
      token: "secret-of-the-channel",
      params: { ttl: "604800" },
    });
    expect(records.all().every(({ expiresAt }) => expiresAt > now + 2 * DAY)).toBe(true);
    for (const each of records.all()) await endSubscription(each);
    expect(cloud.watches.size).toBe(0);
  });

  it("tries again with growing waits, and notifies the owner once the third try has failed", async () => {
    cloud.watches.set("made-before", { body: {}, expiresAt: now });
    records.save(graph());
    cloud.sender.instead.push(...Array.from({ length: 4 }, () => ({ status: 503 })));
    await renewal.renewDue();
    await renewal.renewDue();
    expect(cloud.sender.calls).toHaveLength(1);
    now += 60_000;
    await renewal.renewDue();
    now += 60_000;
    await renewal.renewDue();
    expect([cloud.sender.calls.length, notices]).toEqual([2, []]);
    now += 60_000;
    await renewal.renewDue();
    expect(notices).toEqual([
      expect.stringContaining("The subscription of microsoft-graph could not be renewed, and ends at "),
    ]);
    expect(notices[0]).toContain("answered 503. The fault is at Microsoft Graph's sign-in: try again later.");
    now += 240_000;
    await renewal.renewDue();
    now += 480_000;
    await renewal.renewDue();
    expect(notices.at(-1)).toBe("The subscription of microsoft-graph is renewed again.");
    expect(records.all()[0]?.begunAt).toBe(now);
  });

  it("notifies the owner at once where no other try can help, without the secrets, and goes on after a restart", async () => {
    cloud.refreshToken = "another";
    records.save(graph());
    await renewal.renewDue();
    expect(notices).toHaveLength(1);
    expect(notices[0]).toContain("answered 400 (invalid_grant; Token has been expired or revoked.)");
    expect(notices[0]).toContain("reveille add microsoft-graph --credentials-file FILE");
    expect(JSON.stringify(notices)).not.toMatch(/secret-of-the-app|refresh-1/u);
    cloud.refreshToken = CREDENTIALS.refresh_token;
    cloud.watches.set("made-before", { body: {}, expiresAt: now });
    renewal = makeRenewal();
    await renewal.renewDue();
    expect(notices.at(-1)).toBe("The subscription of microsoft-graph is renewed again.");
  });

  it("keeps the refresh token that takes the place of the one before, in a file that the owner alone can read", async () => {
    cloud.rotation.push("refresh-2");
    cloud.watches.set("made-before", { body: {}, expiresAt: now });
    records.save(graph());
    await renewal.renewDue();
    const file = join(stateDir, "credentials.json");
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ ...CREDENTIALS, refresh_token: "refresh-2" });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    chmodSync(file, 0o644);
    now += 3 * DAY;
    await renewal.renewDue();
    expect(notices.at(-1)).toContain(`[Others can read ${file}: chmod 600 ${file}]`);
  });

  it("lets an application sign in for itself in its tenant", async () => {
    const { refresh_token: _unused, ...app } = CREDENTIALS;
    writeFileSync(join(stateDir, "credentials.json"), JSON.stringify({ ...app, tenant: "acme.example" }), {
      mode: 0o600,
    });
    cloud.watches.set("made-before", { body: {}, expiresAt: now });
    records.save(graph());
    await renewal.renewDue();
    expect(cloud.sender.lines[0]).toBe("POST /acme.example/oauth2/v2.0/token");
    expect(records.all()[0]?.begunAt).toBe(now);
  });

  it("renews every one of hundreds", async () => {
    for (let at = 0; at < 120; at++) {
      records.save(record("microsoft-graph", `users/${at}/messages`, { begunAt: now, expiresAt: now + 3 * DAY }));
    }
    records.save(graph({ expiresAt: now - DAY }));
    await renewal.renewDue();
    expect(records.all()).toHaveLength(121);
    expect(records.all().filter(({ expiresAt }) => expiresAt < now)).toEqual([]);
  });

  it("leaves out files that are no records, and does not bring back one that was removed meanwhile", async () => {
    records.save(graph());
    writeFileSync(join(stateDir, "subscriptions", "broken.json"), "{");
    cloud.validate = async () => {
      records.delete(graph());
      return true;
    };
    await renewal.renewDue();
    expect(cloud.watches.size).toBe(1);
    expect(records.all()).toEqual([]);
  });

  it("ends a call in progress when the gateway stops, without a notice", async () => {
    records.save(graph({ expiresAt: now + 60_000 }));
    cloud.sender.instead.push("nothing");
    renewal.start();
    await expect.poll(() => cloud.sender.calls.length).toBe(1);
    await renewal.stop();
    expect(notices).toEqual([]);
  });
});
