import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { RunningGateway } from "../http/running-gateway.ts";
import { call, hmac } from "../http/sender-calls.ts";
import type { SenderAnswer } from "../http/sender-calls.ts";

const examples = join(import.meta.dirname, "../../../examples");
const SECRET = "signing-key-of-the-example-tests";
const swiftcrate = { presets: ["swiftcrate"], swiftcrate: { secret: SECRET } };
const delivered = {
  type: "parcel.delivered",
  parcel: { number: "SC-1", to: "Ada" },
  actor: { name: "Noor", kind: "person" },
};

/** Calls as Swiftcrate does, signed with its time. */
function swiftcrateCall(gateway: RunningGateway, payload: object, secret = SECRET): Promise<SenderAnswer> {
  const body = JSON.stringify(payload);
  const time = Math.floor(Date.now() / 1_000);
  const signature = `t=${time},v1=${hmac(secret, `${time}.${body}`)}`;
  const headers = { "x-swiftcrate-signature": signature, "content-type": "application/json" };
  return call(gateway, "/hooks/swiftcrate", { headers, body });
}

/** A gateway with the plugin of a folder. */
function startedWith(folder: string, hooks: object, config?: unknown): Promise<RunningGateway> {
  const entries = config === undefined ? {} : { "quiet-hours": { config } };
  return RunningGateway.start({ hooks, config: { plugins: { load: { paths: [folder] }, entries } } });
}

/** Hours and minutes of UTC, some hours from now. */
function clockTime(hoursFromNow: number): string {
  return new Date(Date.now() + hoursFromNow * 3_600_000).toISOString().slice(11, 16);
}

describe("examples/preset-plugin, loaded from its folder", () => {
  it("turns a call of its sender into a run that is carried out", async () => {
    await using gateway = await startedWith(join(examples, "preset-plugin"), swiftcrate);
    const answer = await swiftcrateCall(gateway, { id: "ntf_1", ...delivered });
    expect(answer.status).toBe(200);
    const delivery = await gateway.ended(answer.body["deliveryId"]);
    expect(delivery).toMatchObject({ state: "done", runs: [{ spec: { name: "Swiftcrate" } }] });
    expect(delivery.runs[0]!.spec).toMatchObject({ message: "Parcel SC-1 was delivered.\nTo: Ada" });
  });

  it("refuses a forger, recognizes a second try, and leaves out what is not wanted", async () => {
    await using gateway = await startedWith(join(examples, "preset-plugin"), swiftcrate);
    expect((await swiftcrateCall(gateway, { id: "ntf_1", ...delivered }, "another-key-of-the-tests")).status).toBe(401);
    const first = await swiftcrateCall(gateway, { id: "ntf_1", ...delivered });
    const second = await swiftcrateCall(gateway, { id: "ntf_1", ...delivered });
    expect(second.body).toMatchObject({ runId: first.body["runId"] });
    await swiftcrateCall(gateway, { id: "ntf_2", ...delivered, type: "parcel.scanned" });
    await swiftcrateCall(gateway, { id: "ntf_3", type: "ping" });
    const states = (await gateway.firsts()).map(({ state, reason }) => [state, reason]);
    expect(states.slice(0, 2)).toEqual([
      ["filtered", "a ping of Swiftcrate"],
      ["filtered", "a scan on the way; hooks.swiftcrate.scans takes them"],
    ]);
    expect(states).toHaveLength(3);
  });

  it("has settings of its own, and refuses others", async () => {
    const scans = { ...swiftcrate, swiftcrate: { secret: SECRET, scans: true } };
    await using gateway = await startedWith(join(examples, "preset-plugin"), scans);
    expect((await swiftcrateCall(gateway, { id: "ntf_2", ...delivered, type: "parcel.scanned" })).status).toBe(200);
    gateway.writeHooks({ ...swiftcrate, swiftcrate: { secret: SECRET, scans: "yes" } });
    expect((await gateway.reload()).applied).toBe(false);
  });
});

describe("examples/preset-plugin, packed as for npm publish", () => {
  it("holds what it needs and no tests, and is loaded from a node_modules folder", async () => {
    await using gateway = await RunningGateway.start();
    const installed = join(gateway.folder, "node_modules/reveille-swiftcrate");
    mkdirSync(installed, { recursive: true });
    const options = { cwd: join(examples, "preset-plugin"), encoding: "utf8" } as const;
    const packing = ["pack", "--ignore-scripts", "--offline", "--silent", "--pack-destination", gateway.folder];
    const archive = join(gateway.folder, execFileSync("npm", packing, options).trim());
    execFileSync("tar", ["-xzf", archive, "-C", installed, "--strip-components", "1"]);
    expect(readdirSync(installed).toSorted()).toEqual([
      "README.md",
      "package.json",
      "plugin.json",
      "swiftcrate-samples.ts",
      "swiftcrate.ts",
    ]);
    const plugins = { load: { paths: ["./node_modules/reveille-swiftcrate"] } };
    gateway.writeFile(JSON.stringify({ ...gateway.configWith(swiftcrate), plugins }));
    await gateway.restart();
    const answer = await swiftcrateCall(gateway, { id: "ntf_1", ...delivered });
    expect((await gateway.ended(answer.body["deliveryId"])).state).toBe("done");
  });
});

describe("examples/policy-plugin, loaded from its folder", () => {
  const folder = join(examples, "policy-plugin");
  const quietNow = { timeZone: "UTC", from: clockTime(-1), to: clockTime(1), urgent: ["Urgent"] };

  it("refuses calls in its hours with a sentence for the caller, and takes what is urgent", async () => {
    await using gateway = await startedWith(folder, {}, quietNow);
    const refused = await gateway.post("/hooks/agent", { message: "Wake up.", name: "GitHub" });
    expect(refused).toMatchObject({
      status: 403,
      body: {
        code: "DENIED",
        error: `Quiet hours: no call is taken from ${quietNow.from} to ${quietNow.to} (UTC). Try again after ${quietNow.to}.`,
      },
    });
    expect((await gateway.post("/hooks/agent", { message: "Fire.", name: "Urgent" })).status).toBe(202);
    gateway.advance(2 * 3_600_000);
    expect((await gateway.post("/hooks/agent", { message: "Wake up.", name: "GitHub" })).status).toBe(202);
  });

  it("counts what it refused and how runs ended, and says so when the gateway stops", async () => {
    await using gateway = await startedWith(folder, {}, quietNow);
    await gateway.post("/hooks/agent", { message: "Wake up.", name: "GitHub" });
    const taken = await gateway.post("/hooks/agent", { message: "Fire.", name: "Urgent" });
    await gateway.ended(taken.body["deliveryId"]);
    await gateway.stop();
    const line = gateway.logger.lines.find(({ message }) => message.startsWith("What the quiet hours refused"));
    expect(line?.fields).toEqual({ refused: 1, done: 1, failed: 0, canceled: 0, skipped: 0 });
    expect(gateway.logger.lines.filter(({ level }) => level === "warn")).toEqual([]);
  });

  it.each([
    [
      { ...quietNow, to: "7am" },
      'plugins.entries.quiet-hours.config.to: the value is not a time of day such as "22:00"',
    ],
    [
      { ...quietNow, timeZone: "Mars/Base" },
      'the plugin "quiet-hours" refused its options: Invalid time zone specified',
    ],
    [{ ...quietNow, form: "x" }, 'plugins.entries.quiet-hours.config.form: unknown key; did you mean "from"?'],
  ])("keeps the gateway from starting when its options are wrong: %o", async (config, message) => {
    await expect(startedWith(folder, {}, config)).rejects.toThrow(message);
  });
});
