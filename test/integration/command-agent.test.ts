import { mkdirSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { DeliveryDetail } from "../../src/core/delivery.ts";
import type { EmbeddedGateway } from "../../src/hosts/embedded/gateway.ts";
import { baseConfig, callHook, GatewayFixture, gatewayToken, readApi } from "../unit/hosts/embedded/gateway/fixture.ts";

/** Reads its prompt, and does what the first word after "do:" says. */
const PROGRAM = `
const { spawn } = require("node:child_process");
let prompt = "";
process.stdin.on("data", (chunk) => (prompt += chunk)).on("end", () => {
  const task = /do:(\\w+)/.exec(prompt)?.[1];
  if (task === "echo") process.stdout.write(prompt.replace(/^Canary.*$/gm, ""));
  if (task === "env") process.stdout.write(JSON.stringify({ ...process.env, cwd: process.cwd() }));
  if (task === "later") { process.stderr.write("the tool is busy"); process.exitCode = 75; }
  if (task === "fail") { process.stderr.write("no such repository"); process.exitCode = 3; }
  if (task === "flood") for (let n = 0; n < 40; n++) process.stdout.write("x".repeat(200_000));
  if (task === "leave" || task === "hang") {
    const child = spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"], { stdio: "inherit" });
    process.stdout.write(String(child.pid));
    require("node:fs").writeFileSync(process.env.PIDS + "/" + task, String(child.pid));
    if (task === "leave") { child.unref(); process.exit(0); }
    process.on("SIGTERM", () => {});
    setInterval(() => {}, 1000);
  }
});
`;

const fixture = new GatewayFixture();
const pids = join(fixture.folder, "pids");
/** Of the gateway; a program reads them when its turn begins. */
const VARIABLES = { NAMED: "a named variable", PIDS: pids, SECRET_OF_THE_GATEWAY: "never to be seen" };
let gateway: EmbeddedGateway;

const mapping = {
  acceptAllThree: "A test.",
  agentId: "coder",
  deliver: false,
  wakeMode: "next-heartbeat",
  messageTemplate: "{{text}}",
};
const config = {
  ...baseConfig,
  agents: {
    defaults: { heartbeat: { every: "0m" } },
    list: [
      { id: "main", default: true },
      {
        id: "coder",
        systemPrompt: "You are careful.",
        runtime: {
          type: "command",
          command: [process.execPath, "program.cjs"],
          cwd: ".",
          env: ["NAMED", "PIDS"],
          isolation: "none",
        },
      },
      { id: "missing", runtime: { type: "command", command: ["no-such-program-here"], isolation: "none" } },
    ],
  },
  hooks: {
    ...baseConfig.hooks,
    retry: { attempts: 2, backoffSeconds: 0.1, maxBackoffSeconds: 0.2 },
    mappings: [
      { ...mapping, id: "run", match: { path: "run" } },
      { ...mapping, id: "short", match: { path: "short" }, timeoutSeconds: 1 },
      { ...mapping, id: "gone", match: { path: "gone" }, agentId: "missing" },
      { ...mapping, id: "kept", match: { path: "kept" }, sessionKey: "hook:kept", sessionMode: "persistent" },
    ],
  },
};

beforeAll(async () => {
  mkdirSync(pids);
  writeFileSync(join(fixture.folder, "program.cjs"), PROGRAM);
  Object.assign(process.env, VARIABLES);
  fixture.write(config);
  gateway = await fixture.start();
});
afterAll(async () => {
  await fixture.remove();
  for (const name of Object.keys(VARIABLES)) delete process.env[name];
});

async function ended(path: string, text: string): Promise<DeliveryDetail> {
  const id = await accepted(path, text);
  return await vi.waitFor(async () => {
    const delivery = await read(id);
    expect(delivery.settledAt).toBeDefined();
    return delivery;
  }, 20_000);
}

async function accepted(path: string, text: string): Promise<string> {
  return ((await (await callHook(gateway, `/hooks/${path}`, { text })).json()) as { deliveryId: string }).deliveryId;
}

async function read(id: string): Promise<DeliveryDetail> {
  return (await (await readApi(gateway, `deliveries/${id}`)).json()) as DeliveryDetail;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The process that a program started. */
async function startedBy(task: string): Promise<number> {
  return await vi.waitFor(async () => {
    expect(readdirSync(pids)).toContain(task);
    const { readFile } = await import("node:fs/promises");
    return Number(await readFile(join(pids, task), "utf8"));
  }, 10_000);
}

describe("an agent that is a program", () => {
  it("gets the prompt on standard input, whose characters no shell reads, and replies on standard output", async () => {
    const text = 'do:echo $(touch pwned) `touch pwned` ; touch pwned && "quoted" \'';
    const { state, runs } = await ended("run", text);
    expect(state).toBe("done");
    expect(runs[0]!.reply).toMatch(/^You are careful\./u);
    expect(runs[0]!.reply).toContain(text);
    expect(readdirSync(fixture.folder)).not.toContain("pwned");
  });

  it("sees of the environment what is named, and a home of its own", async () => {
    const { id, runs } = await ended("run", "do:env");
    const env = JSON.parse(runs[0]!.reply!) as Record<string, string>;
    expect(Object.keys(env).toSorted()).toEqual(
      expect.arrayContaining(["HOME", "NAMED", "PATH", "REVEILLE_AGENT", "REVEILLE_RUN", "REVEILLE_SESSION", "cwd"]),
    );
    expect(runs[0]!.reply).not.toContain("never to be seen");
    expect(env["HOME"]).toBe(join(fixture.stateDir, "agents", "coder", "home"));
    expect(env["cwd"]).toBe(realpathSync(fixture.folder));
    expect(env["REVEILLE_RUN"]).toContain(id.slice(4));
  });

  it("fails with the end of standard error, and is tried again when it asks for that", async () => {
    const failed = await ended("run", "do:fail");
    expect(failed).toMatchObject({ state: "failed", runs: [{ attempts: [{ status: "error" }] }] });
    expect(failed.reason).toContain("ended with status 3: no such repository");
    const later = await ended("run", "do:later");
    expect(later.runs[0]!.attempts).toHaveLength(2);
    expect(later.reason).toContain("the tool is busy");
  });

  it("fails when it replies too much, and when there is no such program", async () => {
    expect((await ended("run", "do:flood")).reason).toContain("longer than 1048576 characters");
    expect((await ended("gone", "do:echo")).reason).toContain('"no-such-program-here" could not be started');
  });

  it("is ended with all that it started when its time is up, and when a person cancels it", async () => {
    const { runs } = await ended("short", "do:hang");
    expect(runs[0]!.attempts[0]!.status).toBe("timeout");
    const first = await startedBy("hang");
    await vi.waitFor(() => expect(isAlive(first)).toBe(false), 10_000);

    writeFileSync(join(pids, "hang"), "0");
    const id = await accepted("run", "do:hang");
    const second = await vi.waitFor(async () => {
      const pid = await startedBy("hang");
      expect(pid).toBeGreaterThan(0);
      return pid;
    }, 10_000);
    await fetch(`${gateway.url}/api/v1/deliveries/${id}/cancel`, {
      method: "POST",
      headers: { authorization: `Bearer ${gatewayToken}`, "content-type": "application/json" },
      body: "{}",
    });
    await vi.waitFor(() => expect(isAlive(second)).toBe(false), 10_000);
    expect((await read(id)).state).toBe("canceled");
  });

  it("leaves nothing running when it has ended", async () => {
    expect(await ended("run", "do:leave")).toMatchObject({ state: "done" });
    const left = await startedBy("leave");
    await vi.waitFor(() => expect(isAlive(left)).toBe(false), 10_000);
  });

  it("sees the conversation of a persistent run", async () => {
    await ended("kept", "the first message, do:fail");
    await ended("kept", "the second message, do:echo");
    const { runs } = await ended("kept", "the third message, do:echo");
    expect(runs[0]!.reply).toContain("Earlier message:");
    expect(runs[0]!.reply).toContain("the second message");
    expect(runs[0]!.reply).not.toContain("the first message");
  });

  it("is refused beside a model, and where it could read the gateway's configuration", async () => {
    const { isolation: _, ...runtime } = config.agents.list[1]!.runtime!;
    fixture.write({ ...config, agents: { ...config.agents, list: [{ id: "coder", runtime, model: "a/b" }] } });
    expect((await gateway.reload()).applied).toBe(false);
    const logged = fixture.logged("error").join("\n");
    expect(logged).toContain("agents.list[0].runtime.cwd: holds the gateway's configuration");
    expect(logged).toContain("agents.list[0].runtime.type: is a program, which takes no model");
  });
});
