import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Collected, collectFiles } from "../../../../src/cli/backup/collect.ts";
import { targetOf } from "../../../../src/cli/backup/manifest.ts";
import { filledPlaces } from "../../../../src/cli/backup/place.ts";
import { SubscriptionRecords } from "../../../../src/hosts/embedded/subscriptions/records.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reveille-collect-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function put(path: string, text = "x"): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function collect(config: object, withSecrets: boolean): Collected {
  put("conf/own.json5", JSON.stringify(config));
  const locations = { configFile: join(folder, "conf/own.json5"), stateDir: join(folder, "conf/state") };
  return collectFiles(locations, withSecrets);
}

const names = ({ files }: Collected): string[] => files.map(({ name }) => name);

it("takes the configuration and the modules, follows no link, and leaves the rest of the folders alone", () => {
  put("conf/hooks/transforms/a/b.ts");
  put("conf/hooks/presets/acme.ts");
  put("conf/other.txt");
  put("conf/state/gateway.key");
  put("conf/state/sender-certificates.json");
  put("conf/state/agents/main/notes.txt");
  put("secret-elsewhere");
  symlinkSync(join(folder, "secret-elsewhere"), join(folder, "conf/hooks/transforms/link.ts"));
  symlinkSync(folder, join(folder, "conf/hooks/transforms/folder"));
  expect(names(collect({}, false))).toEqual([
    "config/reveille.json5",
    "config/hooks/transforms/a/b.ts",
    "config/hooks/presets/acme.ts",
    "state/sender-certificates.json",
  ]);
  expect(names(collect({}, true))).toContain("state/gateway.key");
});

it("takes the keys that senders delivered when asked for secrets, and else says that they are missing", () => {
  put("conf/state/sender-keys.json");
  const without = collect({}, false);
  expect(names(without)).toEqual(["config/reveille.json5"]);
  const from = join(folder, "conf/state/sender-keys.json");
  expect(without.leftOut).toEqual([{ path: "the keys that senders delivered", from }]);
  const withThem = collect({}, true);
  expect([names(withThem), withThem.leftOut]).toEqual([["config/reveille.json5", "state/sender-keys.json"], []]);
  const places = { configFile: join(folder, "new/own.json5"), stateDir: join(folder, "new/state") };
  expect(targetOf("state/sender-keys.json", places)).toEqual({ root: "state", path: "sender-keys.json" });
  expect(filledPlaces({ configFile: places.configFile, stateDir: join(folder, "conf/state") })).toEqual([from]);
});

it("takes files with secrets only when asked, and never one outside of the configuration's folder", () => {
  put("conf/hook-token");
  put("elsewhere");
  symlinkSync(join(folder, "elsewhere"), join(folder, "conf/linked"));
  const files = ["hook-token", "../elsewhere", "linked", "missing"].map((file) => ({ file }));
  const config = { gateway: { auth: { token: "written-secret" } }, hooks: { token: files } };
  const without = collect(config, false);
  expect(names(without)).toEqual(["config/reveille.json5"]);
  expect(without.leftOut.map(({ path }) => path)).toEqual([
    "gateway.auth.token",
    ...files.map((_, at) => `hooks.token[${at}]`),
  ]);
  expect(Buffer.from(without.files[0]!.content).toString()).not.toContain("written-secret");
  const withThem = collect(config, true);
  expect(names(withThem)).toEqual(["config/reveille.json5", "config/hook-token"]);
  expect(Buffer.from(withThem.files[0]!.content).toString()).toContain("written-secret");
  expect(withThem.leftOut.map(({ from }) => from)).toEqual(
    ["elsewhere", "conf/linked", "conf/missing"].map((path) => join(folder, path)),
  );
});

it("takes what is registered at senders, and names the credentials that a renewal needs", () => {
  put("conf/registrations.json", '{ "registrations": [] }');
  const records = new SubscriptionRecords(join(folder, "conf/state"));
  records.save({
    sender: "gmail-push",
    preset: "gmail-push",
    api: "https://gmail.googleapis.com",
    tokenUrl: "https://oauth2.googleapis.com/token",
    credentials: "/home/ada/google.json",
    secret: null,
    url: "https://gateway.example.com/hooks/gmail-push",
    resource: "projects/acme/topics/gmail",
    events: ["INBOX"],
    id: "watch",
    begunAt: 0,
    expiresAt: 1,
  });
  const collected = collect({}, false);
  const kept = names(collected).filter((name) => name !== "config/reveille.json5");
  expect(kept).toEqual([
    "config/registrations.json",
    expect.stringMatching(/^state\/subscriptions\/[\da-f]{24}\.json$/u),
  ]);
  expect(collected.leftOut).toEqual([{ path: "the credentials of gmail-push", from: "/home/ada/google.json" }]);
  const locations = { configFile: join(folder, "conf/own.json5"), stateDir: join(folder, "conf/state") };
  expect(kept.map((name) => targetOf(name, locations).root)).toEqual(["config", "state"]);
});

it("says that deliveries in PostgreSQL are elsewhere", () => {
  expect(collect({ hooks: { store: { url: "postgres://db/x" } } }, false).isOnPostgres).toBe(true);
  expect(collect({ hooks: {} }, false).isOnPostgres).toBe(false);
});

it("takes how far subscriptions to events of an earlier version have come, and they go back to their places", () => {
  const stateDir = join(folder, "conf/state");
  const file = `${"0a".repeat(12)}.json`;
  mkdirSync(join(stateDir, "subscriptions/events"), { recursive: true });
  writeFileSync(join(stateDir, "subscriptions/events", file), "{}");
  const name = `state/subscriptions/events/${file}`;
  expect(names(collect({}, false))).toContain(name);
  const locations = { configFile: join(folder, "conf/own.json5"), stateDir };
  expect(targetOf(name, locations)).toEqual({ root: "state", path: name.slice("state/".length) });
});
