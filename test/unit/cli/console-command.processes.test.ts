import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { RecordedProcess } from "./recorded-process.ts";

const HOOK_TOKEN = "hook-token-of-these-tests-here";

let terminal: RecordedProcess;
let code: Promise<number>;
let url: string;

beforeAll(async () => {
  terminal = new RecordedProcess();
  mkdirSync(dirname(terminal.configFile), { recursive: true });
  const mapping = { id: "large", match: { path: "large" }, when: "payload.n > 10.0", messageTemplate: "{{n}}" };
  const config = {
    gateway: { auth: { token: "gateway-token-of-these-tests" }, shutdownSeconds: 5 },
    agents: { defaults: { heartbeat: { every: "0m" } } },
    hooks: { enabled: true, token: HOOK_TOKEN, mappings: [mapping] },
  };
  writeFileSync(terminal.configFile, JSON.stringify(config), { mode: 0o600 });
  terminal.isTerminal = true;
  ({ url, code } = await terminal.serve());
});
afterAll(async () => {
  terminal.signals.emit("SIGTERM");
  await code;
  terminal.remove();
});

async function run(...args: readonly string[]): Promise<string> {
  terminal.out = "";
  terminal.err = "";
  expect(await terminal.run(...args, "--url", url)).toBe(0);
  return terminal.out;
}

async function signIn(link: string): Promise<number> {
  const body = JSON.stringify({ link: new URL(link).hash.replace("#sign-in=", "") });
  const headers = { "content-type": "application/json", "x-reveille-console": "1" };
  return (await fetch(`${url}/console/api/sign-in`, { method: "POST", headers, body })).status;
}

it("reveille console prints a link that signs in once; a gateway that starts in a terminal prints one too", async () => {
  const first = /http\S+#sign-in=\S+/u.exec(terminal.out)?.[0];
  expect(await signIn(first!)).toBe(200);
  const link = (await run("console")).trim();
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console\/#sign-in=[\w-]{43}$/u);
  expect([await signIn(link), await signIn(link)]).toEqual([200, 401]);
});

it("reveille backtest lists what the configuration of today would change", async () => {
  const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" };
  await fetch(`${url}/hooks/large`, { method: "POST", headers, body: '{"n":1}' });
  await vi.waitFor(async () => {
    const printed = await run("backtest", "--since", "1h");
    expect(printed).toContain("1 delivery: 0 differ, 0 could not be judged.\n");
    expect(printed).toContain("0 of 1 deliveries are judged");
  }, 30_000);
  const edited = join(dirname(terminal.configFile), "edited.json5");
  writeFileSync(edited, "[{ id: 'large', when: 'payload.n > 0.0' }]");
  const printed = await run("backtest", "--since", "1h", "--edited", edited);
  expect(printed).toContain("was filtered, would be runs");
  expect(printed).toMatch(/MAPPING\s+RUNS\s+TOKENS\s+COST\s+RUNS THEN/u);
  expect(printed).toMatch(/large\s+0\.0\s+24\s/u);
  expect(await terminal.run("backtest", "--edited", `${edited}.gone`, "--url", url)).toBe(1);
  expect(terminal.err).toContain("cannot be read");
  expect(JSON.parse(await run("backtest", "--json"))).toMatchObject({ deliveries: [{ change: "same" }] });
});
