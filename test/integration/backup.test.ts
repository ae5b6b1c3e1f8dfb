import { spawn } from "node:child_process";
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type SubscriptionRecord, SubscriptionRecords } from "../../src/hosts/embedded/subscriptions/records.ts";
import { GatewayProcess } from "./gateway-process.ts";

const program = join(import.meta.dirname, "../../scripts/start.mjs");
const NOBODY = 65_534;
const OTHER = 65_533;
const KILLS_MS = [0, 30, 60, 100, 150, 220, 300, 450];

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

let gateway: GatewayProcess;
let folder: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "reveille-backups-"));
  gateway = new GatewayProcess();
  mkdirSync(join(gateway.folder, "hooks", "transforms", "team"), { recursive: true });
  writeFileSync(join(gateway.folder, "hooks", "transforms", "team", "a.mjs"), "export default () => ({});\n");
  await gateway.start();
});
afterEach(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** A command about the gateway, or about the place at which a backup is restored. */
function run(args: readonly string[], { killAfterMs, at }: { killAfterMs?: number; at?: string } = {}): Promise<Ended> {
  const places =
    at === undefined ? ([join(gateway.folder, "reveille.json5"), gateway.stateDir] as const) : placesOf(at);
  const child = spawn(process.execPath, [program, ...args, "--config", places[0], "--state-dir", places[1]]);
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  if (killAfterMs !== undefined) setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, out, err })));
}

function placesOf(at: string): readonly [string, string] {
  return [join(at, "conf", "hooks.json5"), join(at, "state")];
}

/** Calls until it is stopped; gives the ids of what was accepted, in order. */
function load(): { readonly accepted: string[]; readonly stop: () => Promise<void> } {
  const accepted: string[] = [];
  const load = { isOn: true };
  const calling = Array.from({ length: 6 }, async (_, at) => {
    for (let call = 0; load.isOn && gateway.isRunning; call++) {
      const message = `call ${call} of ${at} ${"x".repeat(2_000)}`;
      const { status, body } = await gateway.post("/hooks/agent", { message });
      if (status === 202) accepted.push(String(body["deliveryId"]));
    }
  });
  const stop = async (): Promise<void> => {
    load.isOn = false;
    await Promise.all(calling);
  };
  return { accepted, stop };
}

/** Fails for a database that is damaged. */
function expectWhole(at: string): void {
  const database = new DatabaseSync(join(placesOf(at)[1], "reveille.sqlite"), { readOnly: true });
  try {
    expect(Object.values(database.prepare("PRAGMA integrity_check").get()!)).toEqual(["ok"]);
  } finally {
    database.close();
  }
}

function subscribedFor(ms: number): SubscriptionRecord {
  const begunAt = Date.now();
  return {
    sender: "gmail-push",
    preset: "gmail-push",
    api: "https://gmail.googleapis.com",
    tokenUrl: "https://oauth2.googleapis.com/token",
    credentials: "/credentials.json",
    secret: null,
    url: "https://gateway.example.com/hooks/gmail-push",
    resource: "projects/acme/topics/gmail",
    events: ["INBOX"],
    id: "watch",
    begunAt,
    expiresAt: begunAt + ms,
  };
}

describe("reveille backup", () => {
  it("holds every call that was accepted before it, while calls go on, and a gateway goes on from it", async () => {
    const calls = load();
    try {
      while (calls.accepted.length < 50) await sleep(20);
      const before = [...calls.accepted];
      const file = join(folder, "b.tar.gz");
      const subscription = subscribedFor(86_400_000);
      new SubscriptionRecords(gateway.stateDir).save(subscription);
      const { code, out, err } = await run(["backup", file, "--with-secrets", "--json"]);
      expect([code, err]).toEqual([0, ""]);
      expect(JSON.parse(out)).toMatchObject({
        hasSecrets: true,
        isOnPostgres: false,
        leftOut: [{ from: "/credentials.json" }],
      });
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(readdirSync(folder)).toEqual(["b.tar.gz"]);
      const during = calls.accepted.length;
      await calls.stop();
      expect(calls.accepted.length).toBeGreaterThanOrEqual(during);
      expect((await run(["restore", file], { at: folder })).code).toBe(0);
      expectWhole(folder);
      const [configFile, stateDir] = placesOf(folder);
      expect(readFileSync(join(configFile, "../hooks/transforms/team/a.mjs"), "utf8")).toContain("export default");
      for (const path of [configFile, join(stateDir, "reveille.sqlite"), join(stateDir, "gateway.key")]) {
        expect(statSync(path).mode & 0o777).toBe(0o600);
      }
      expect(new SubscriptionRecords(stateDir).all()).toEqual([subscription]);
      const restored = new GatewayProcess({}, { stateDir });
      try {
        await restored.start();
        const ids = new Set((await restored.deliveries()).map(({ id }) => id));
        expect(before.filter((id) => !ids.has(id))).toEqual([]);
        expect((await restored.post("/hooks/agent", { message: "after" })).status).toBe(202);
      } finally {
        await restored.close();
      }
    } finally {
      await calls.stop();
    }
  }, 120_000);

  it("leaves no half file when it is killed, and the gateway serves on", async () => {
    const file = join(folder, "b.tar.gz");
    const calls = load();
    for (const killAfterMs of KILLS_MS) {
      await run(["backup", file, "--force"], { killAfterMs });
      if (existsSync(file)) expect((await run(["restore", "--verify", file])).code).toBe(0);
      expect((await gateway.post("/hooks/agent", { message: "x" })).status).toBe(202);
    }
    await calls.stop();
    expect((await run(["backup", file, "--force"])).code).toBe(0);
  }, 120_000);

  it("is whole also when the gateway is killed meanwhile", async () => {
    const file = join(folder, "b.tar.gz");
    for (let at = 0; at < 20; at++) await gateway.post("/hooks/agent", { message: "x".repeat(50_000) });
    const backup = run(["backup", file]);
    await gateway.end("SIGKILL");
    expect((await backup).code).toBe(0);
    expect((await run(["restore", "--verify", file])).out).toContain("is whole");
  }, 60_000);
});

describe("reveille restore", () => {
  it("finds a whole gateway after it was killed at any moment and is repeated", async () => {
    for (let at = 0; at < 20; at++) await gateway.post("/hooks/agent", { message: "x".repeat(20_000) });
    const file = join(folder, "b.tar.gz");
    expect((await run(["backup", file, "--with-secrets"])).code).toBe(0);
    for (const killAfterMs of KILLS_MS) {
      await run(["restore", file, "--force"], { at: folder, killAfterMs });
      const again = await run(["restore", file, "--force"], { at: folder });
      expect([again.code, again.err]).toEqual([0, ""]);
      expectWhole(folder);
    }
  }, 120_000);

  it.skipIf(process.getuid?.() !== 0)(
    "as root leaves all that it makes to whom the places belong",
    async () => {
      new SubscriptionRecords(gateway.stateDir).save(subscribedFor(86_400_000));
      const file = join(folder, "b.tar.gz");
      expect((await run(["backup", file, "--with-secrets"])).code).toBe(0);
      const at = join(folder, "at");
      mkdirSync(at);
      chownSync(at, NOBODY, OTHER);
      // The second time, what was there is moved aside, and there is a new lock.
      for (const args of [["restore", file] as const, ["restore", file, "--force"] as const]) {
        expect((await run(args, { at })).err).toBe("");
        const all = readdirSync(at, { recursive: true, encoding: "utf8" });
        expect(all.length).toBeGreaterThan(8);
        const foreign = all.filter((name) => {
          const { uid, gid } = lstatSync(join(at, name));
          return uid !== NOBODY || gid !== OTHER;
        });
        expect(foreign).toEqual([]);
      }
      expect(readdirSync(join(at, "state")).some((name) => name.startsWith("before-"))).toBe(true);
    },
    60_000,
  );

  it("refuses a gateway that runs, places that are filled, and a file that was changed", async () => {
    const file = join(folder, "b.tar.gz");
    expect((await run(["backup", file])).code).toBe(0);
    const running = await run(["restore", file, "--force"]);
    expect([running.code, running.err]).toEqual([1, expect.stringContaining("A gateway runs on")]);
    await gateway.end("SIGTERM");
    const filled = await run(["restore", file]);
    expect([filled.code, filled.err]).toEqual([1, expect.stringContaining("is there already; --force moves it aside")]);

    const plain = gunzipSync(readFileSync(file));
    const changed = (from: string, to: string): void => {
      const at = plain.lastIndexOf(from);
      expect(at).toBeGreaterThan(0);
      const copy = Buffer.from(plain);
      copy.write(to, at);
      writeFileSync(join(folder, "changed.tar.gz"), gzipSync(copy));
    };
    for (const [from, to, reason] of [
      ["SQLite format 3", "SQLite format 4", "its checksum is another one"],
      ["export default", "export DEFAULT", "its checksum is another one"],
      ["hooks/transforms/team/a.mjs", "../../transforms/team/a.mjs", "is not a whole backup"],
    ] as const) {
      changed(from, to);
      const { code, err } = await run(["restore", join(folder, "changed.tar.gz")], { at: folder });
      expect([code, err]).toEqual([1, expect.stringContaining(reason)]);
      expect(existsSync(join(folder, "state", "reveille.sqlite"))).toBe(false);
      expect(existsSync(join(folder, "conf", "hooks.json5"))).toBe(false);
    }
    expect(readdirSync(join(folder, "conf"))).toEqual([]);

    const without = await run(["restore", file], { at: folder });
    expect(without.out).toContain("  gateway.auth.token (REVEILLE_GATEWAY_AUTH_TOKEN)\n");
    expect(existsSync(join(folder, "state", "gateway.key"))).toBe(false);
    const forced = await run(["restore", file, "--force"]);
    expect([forced.code, forced.out]).toEqual([0, expect.stringContaining("What was there is in")]);
    // The key that the backup lacks stays.
    expect(existsSync(join(gateway.stateDir, "gateway.key"))).toBe(true);
  }, 60_000);
});
