import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RecordedProcess } from "./recorded-process.ts";

const HOOK_TOKEN = "hook-token-of-these-tests-here";
const GATEWAY_TOKEN = "gateway-token-of-these-tests";
const NO_RECEIVER = { url: "http://127.0.0.1:9/", secret: `whsec_${Buffer.alloc(32, 7).toString("base64")}` };

let terminal: RecordedProcess;
let url: string;

beforeEach(() => {
  terminal = new RecordedProcess();
});
afterEach(() => {
  terminal.remove();
});

function configure(channel: "webhook" | "console"): void {
  mkdirSync(dirname(terminal.configFile), { recursive: true });
  const pager = { id: "pager", match: { path: "pager" }, mode: "deliver", name: "Pager", messageTemplate: "{{text}}" };
  const config = {
    gateway: { auth: { token: GATEWAY_TOKEN }, shutdownSeconds: 5 },
    agents: { defaults: { heartbeat: { every: "0m" } } },
    channels: { webhook: NO_RECEIVER },
    hooks: {
      enabled: true,
      token: HOOK_TOKEN,
      mappings: [{ ...pager, channel, to: "owner", retry: { delivery: { attempts: 1 } } }],
    },
  };
  writeFileSync(terminal.configFile, JSON.stringify(config), { mode: 0o600 });
}

async function printed(...args: readonly string[]): Promise<string> {
  terminal.out = "";
  terminal.err = "";
  expect([await terminal.run(...args, "--url", url), terminal.err]).toEqual([0, ""]);
  return terminal.out;
}

async function deadLetter(text: string): Promise<string> {
  const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" };
  const response = await fetch(`${url}/hooks/pager`, { method: "POST", headers, body: JSON.stringify({ text }) });
  const { deliveryId } = (await response.json()) as { deliveryId: string };
  await vi.waitFor(async () => {
    expect(await printed("deliveries", "show", deliveryId)).toContain(`${deliveryId}  failed`);
  }, 15_000);
  return deliveryId;
}

describe("a dead letter that was replayed with success", () => {
  it("is listed with its replay, is counted, and is no longer open", async () => {
    configure("webhook");
    const { url: served, code } = await terminal.serve();
    url = served;
    expect(await printed("deliveries", "list", "--open")).toBe("No dead letter is open.\n");
    const [dead, still] = [await deadLetter("first\nline two"), await deadLetter("second")];
    expect(await printed("deliveries", "list", "--open")).toMatch(
      new RegExp(`^${still} [^]*^${dead} [^]*^2 open\\.$`, "mu"),
    );

    configure("console");
    terminal.signals.emit("SIGHUP");
    await vi.waitFor(() => {
      expect(terminal.logger.lines.map(({ message }) => message)).toContain("configuration applied");
    }, 15_000);
    const replayed = /replayed as (dlv_\w+)/u.exec(await printed("deliveries", "replay", dead))?.[1];
    await vi.waitFor(async () => {
      const failed = await printed("deliveries", "list", "--state", "failed");
      expect(failed).toMatch(new RegExp(`^${dead} .* replayed as ${replayed} \\(done\\);`, "mu"));
      expect(failed).toContain("2 failed, 1 of them resolved; --open leaves those out.");
    }, 15_000);
    const open = await printed("deliveries", "list", "--open");
    expect([open.includes(dead), open.includes(still), open.includes("\n1 open.")]).toEqual([false, true, true]);
    expect(await printed("deliveries", "show", dead)).toMatch(
      new RegExp(`^ {2}replayed +${replayed} \\(done\\)$`, "mu"),
    );

    const shown = await printed("deliveries", "show");
    expect(shown).toMatch(/^ {2}reply\n {4}first\n {4}line two$/mu);
    expect(shown).toContain(`${replayed}  done`);

    expect(await terminal.run("deliveries", "show", "dlv_nosuch", "--url", url)).toBe(1);
    expect(terminal.err).toBe('There is no delivery "dlv_nosuch". To find one: reveille deliveries list\n');

    const api = (query: string): Promise<Response> =>
      fetch(`${url}/api/v1/deliveries?${query}`, { headers: { authorization: `Bearer ${GATEWAY_TOKEN}` } });
    const { deliveries } = (await (await api("open=true")).json()) as { deliveries: { id: string }[] };
    expect(deliveries.map(({ id }) => id)).toEqual([still]);
    for (const query of ["open=yes", "open=true&state=done"]) expect((await api(query)).status).toBe(400);
    expect(await printed("deliveries", "resolve", still, "--note", "Done by hand.")).toMatch(/failed +resolved$/mu);
    expect(await printed("deliveries", "list", "--open")).toBe("No dead letter is open.\n");
    expect(await printed("deliveries", "show", still)).toMatch(/^ {2}resolved +\d{4}-\S+Z {2}Done by hand\.$/mu);
    const all = await printed("deliveries", "list", "--state", "failed");
    expect(all).toMatch(new RegExp(`^${still} .* resolved at \\S+Z \\(Done by hand\\.\\);`, "mu"));
    expect(all).toContain("2 failed, 2 of them resolved; --open leaves those out.");
    expect(await printed("deliveries", "replay", "--state", "failed", "--yes")).toContain(
      "left alone: it was resolved at",
    );
    terminal.signals.emit("SIGTERM");
    await code;
  }, 60_000);
});
