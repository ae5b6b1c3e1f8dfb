import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openDeliveredKeys } from "../../../src/auth/keys/delivered-keys.ts";
import { RecordedProcess } from "./recorded-process.ts";

const HOOK_TOKEN = "hook-token-of-these-tests-here";
const SOON = { timeout: 15_000, interval: 20 };

let terminal: RecordedProcess;
let code: Promise<number>;
let url: string;

beforeAll(async () => {
  terminal = new RecordedProcess();
  mkdirSync(dirname(terminal.configFile), { recursive: true });
  const config = {
    gateway: { auth: { token: "gateway-token-of-these-tests" }, shutdownSeconds: 5 },
    agents: { defaults: { heartbeat: { every: "0m" } } },
    channels: { console: { enabled: true } },
    hooks: {
      enabled: true,
      token: HOOK_TOKEN,
      presets: ["github"],
      github: { secret: "a-secret-of-github", deliver: false, wakeMode: "next-heartbeat" },
    },
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
  expect([await terminal.run(...args), terminal.err]).toEqual([0, ""]);
  return terminal.out;
}

async function json(...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  return JSON.parse(await run(...args, "--json")) as Record<string, unknown>;
}

async function call(path: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" };
  expect((await fetch(`${url}/hooks/${path}`, { method: "POST", headers, body: JSON.stringify(body) })).ok).toBe(true);
}

describe("what agents said", () => {
  it("is printed on the terminal when it is sent on the console, and listed by outbox and sessions", async () => {
    expect(await run("outbox", "--url", url)).toBe("No channel was given a message yet.\n");
    terminal.out = "";
    await call("agent", {
      message: "Say hello.",
      channel: "console",
      to: "owner",
      sessionKey: undefined,
      wakeMode: "next-heartbeat",
    });
    await vi.waitFor(() => expect(terminal.out).toMatch(/^\[console\] to owner:\n {2}\S/mu), SOON);
    const { messages } = (await json("outbox", "--url", url)) as { messages: { text: string }[] };
    expect(messages).toMatchObject([{ channel: "console", to: "owner", state: "sent" }]);
    const [firstLine] = messages[0]!.text.split("\n");
    expect(await run("outbox", "--url", url)).toContain(`Z  console to owner\n    ${firstLine}`);

    await call("wake", { text: "Disk\u001b[2J full.", mode: "next-heartbeat" });
    const { sessions } = (await json("sessions", "--url", url)) as { sessions: { key: string }[] };
    const keys = sessions.map(({ key }) => key);
    expect(keys).toContain("agent:main:main");
    expect(await run("sessions", "list", "--url", url)).toMatch(/^SESSION +LATEST +MESSAGES +EVENTS\n/u);
    const shown = await run("sessions", "show", "--url", url);
    expect(shown).toContain("waits for the next turn");
    expect(shown).toContain("Disk\uFFFD[2J full.");
    const ofRun = keys.find((key) => key !== "agent:main:main")!;
    expect(await run("sessions", "show", ofRun, "--url", url)).toMatch(/^\S+Z {2}user\n[^]*^\S+Z {2}assistant\n/mu);
    expect(await json("sessions", "show", ofRun, "--url", url)).toMatchObject({
      session: ofRun,
      messages: [{ role: "user" }, { role: "assistant" }],
      events: [],
    });
    expect(await json("sessions", "show", ofRun, "--limit", "1", "--url", url)).toMatchObject({
      messages: [{ role: "assistant" }],
    });
    expect(await run("sessions", "show", "nothing", "--url", url)).toBe(
      'Nothing was said in the session "nothing" yet.\n',
    );
    const limited = (await json("sessions", "--limit", "1", "--url", url)) as { sessions: unknown[] };
    expect(limited.sessions).toHaveLength(1);
  });
});

describe("--json", () => {
  it("makes one document of each command that prints something", async () => {
    expect(await json("send", "github", "push", "--url", url)).toMatchObject({
      status: 200,
      delivery: { state: "done", route: "github" },
      duplicate: null,
    });
    expect(await json("send", "github", "push", "--same", "--url", url)).toMatchObject({ duplicate: null });
    expect(await json("send", "github", "push", "--same", "--url", url)).toMatchObject({
      duplicate: expect.stringContaining("dlv_"),
    });
    expect(await json("presets", "show", "github")).toMatchObject({
      name: "github",
      samples: expect.arrayContaining(["push"]),
      uses: [{ sender: "github", url: expect.stringContaining("/hooks/github") }],
      configuration: expect.stringContaining('presets: ["github"]'),
      try: "reveille send github push",
    });
    expect(await json("transform", "new", "deploy")).toMatchObject({
      module: "deploy.ts",
      file: join(dirname(terminal.configFile), "hooks", "transforms", "deploy.ts"),
      add: expect.stringContaining("deploy.ts"),
      try: expect.stringContaining("transform test deploy.ts"),
    });
  });

  it("makes one of init and of keys", async () => {
    const other = new RecordedProcess();
    const file = other.configFile;
    expect(await other.run("init", "--json")).toBe(0);
    expect(JSON.parse(other.out)).toMatchObject({ file, call: expect.stringContaining("curl -X POST") });
    const stateDir = join(dirname(file), "state");
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
    const keys = await openDeliveredKeys({
      file: join(stateDir, "sender-keys.json"),
      clock: { now: () => Date.now() },
      logger: other.logger,
    });
    await keys.accept("notion", "secret_delivered_by_notion");
    const documents: unknown[] = [];
    for (const args of [[], ["--show", "notion"]]) {
      other.out = "";
      expect(await other.run("keys", ...args, "--json")).toBe(0);
      documents.push(JSON.parse(other.out));
    }
    expect(documents).toEqual([{ routes: ["notion"] }, { route: "notion", key: "secret_delivered_by_notion" }]);
    other.remove();
  });
});
