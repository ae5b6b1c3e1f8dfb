import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ModelEndpoint } from "../../integration/model-endpoint.ts";
import { gatewayFindings } from "../../../src/cli/doctor-gateway.ts";
import { EmbeddedCliGateway } from "../../../src/cli/embedded-gateway.ts";
import { RecordedProcess } from "./recorded-process.ts";

const GATEWAY_TOKEN = "gateway-token-of-these-tests";
const KEY = "key-of-the-model-of-these-tests";

let terminal: RecordedProcess;
const servers: Server[] = [];

beforeEach(() => {
  terminal = new RecordedProcess();
});
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  terminal.remove();
});

/** A server that answers everything with one status; resolves with its port. */
async function answering(status: (authorization: string | undefined) => number): Promise<number> {
  const server = createServer((req, res) => res.writeHead(status(req.headers.authorization)).end("{}"));
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function freePort(): Promise<number> {
  const port = await answering(() => 200);
  const server = servers.pop()!;
  server.close();
  await once(server, "close");
  return port;
}

interface Finding {
  readonly level: string;
  readonly about: string;
  readonly message: string;
}

async function findings(...args: readonly string[]): Promise<readonly string[]> {
  terminal.out = "";
  await terminal.run("doctor", "--json", ...args);
  const report = JSON.parse(terminal.out) as { findings: readonly Finding[] };
  return report.findings
    .filter(({ about }) => about !== "transforms" && about !== "node")
    .map(({ level, about, message }) => `${level} ${about}: ${message}`);
}

describe("reveille doctor", () => {
  it("asks the gateway, its models and the URLs of senders, and looks at the disk and at what is set aside", async () => {
    const port = await freePort();
    const elsewhere = await answering(() => 404);
    const model = await answering((authorization) => (authorization === `Bearer ${KEY}` ? 200 : 401));
    const configure = (publicUrl: string): void => {
      mkdirSync(dirname(terminal.configFile), { recursive: true });
      const baseUrl = `http://127.0.0.1:${model}/v1`;
      const config = {
        gateway: { port, auth: { token: GATEWAY_TOKEN }, shutdownSeconds: 5 },
        agents: { defaults: { heartbeat: { every: "0m" } } },
        models: { providers: { good: { baseUrl, apiKey: KEY }, bad: { baseUrl, apiKey: "wrong" } } },
        hooks: {
          enabled: true,
          token: "hook-token-of-these-tests-here",
          publicUrl,
          presets: ["github", "stripe"],
          github: { secret: "secret-of-the-command-tests-2c" },
          stripe: { secret: { env: "NO_SUCH_VARIABLE" } },
        },
      };
      writeFileSync(terminal.configFile, JSON.stringify(config), { mode: 0o600 });
    };
    configure(`http://127.0.0.1:${port}`);
    const idle = (await findings()).join("\n");
    expect(idle).toContain(`warning gateway: none answers under http://127.0.0.1:${port}: `);
    expect(idle).toContain(`problem senders: http://127.0.0.1:${port}/hooks/github cannot be reached: `);
    expect(idle).toMatch(/^(?:ok|warning) disk: \d+ MiB are free/mu);
    expect(idle).toMatch(/^problem configuration: .*stripe is set aside, .*NO_SUCH_VARIABLE/mu);
    expect(idle).toContain("ok models: good answers (200)");
    expect(idle).toContain("problem models: bad refuses the API key (401)");

    const { code } = await terminal.serve("--port", String(port));
    const served = (await findings()).join("\n");
    expect(served).toContain(`ok gateway: answers under http://127.0.0.1:${port}`);
    expect(served).toContain("ok deliveries: 0 failed and not replayed with success, 0 held, 0 queued");
    expect(served).toContain(`ok senders: http://127.0.0.1:${port}/hooks/github is reachable`);

    configure(`http://127.0.0.1:${elsewhere}`);
    expect((await findings()).join("\n")).toContain(
      `problem senders: http://127.0.0.1:${elsewhere}/hooks/github is answered 404, and not by this gateway`,
    );
    terminal.signals.emit("SIGTERM");
    await code;
  }, 180_000);

  it("calls the public URL with a question that the running gateway alone can answer", async () => {
    const [port, open, elsewhere] = [await freePort(), await freePort(), await answering(() => 200)];
    const configure = (expose: object): void => {
      mkdirSync(dirname(terminal.configFile), { recursive: true });
      const config = {
        gateway: { port, auth: { token: GATEWAY_TOKEN }, shutdownSeconds: 5, expose },
        agents: { defaults: { heartbeat: { every: "0m" } } },
        hooks: { enabled: true, token: "hook-token-of-these-tests-here", path: "/in" },
      };
      writeFileSync(terminal.configFile, JSON.stringify(config), { mode: 0o600 });
    };
    // The whole command also tries every isolation, which takes its time.
    const gateway = new EmbeddedCliGateway({ env: {}, homeDir: dirname(terminal.configFile) });
    const about = async (): Promise<readonly string[]> =>
      (await gatewayFindings(gateway, { config: terminal.configFile }))
        .filter(({ about }) => about === "public URL")
        .map(({ level, message }) => `${level}: ${message}`);
    const via = { via: "command", command: ["sleep", "600"], port: open };
    configure({ ...via, url: `http://127.0.0.1:${open}` });
    const { code } = await terminal.serve("--port", String(port));
    await vi.waitFor(() => expect(terminal.out).toContain(`Senders reach the hooks under http://127.0.0.1:${open}/in`));
    expect(await about()).toEqual([`ok: http://127.0.0.1:${open} leads to this gateway`]);
    const applied = async (expose: object, line: RegExp): Promise<void> => {
      configure(expose);
      terminal.signals.emit("SIGHUP");
      await vi.waitFor(async () => expect((await about()).join("\n")).toMatch(line), 30_000);
    };
    await applied(
      { ...via, url: `http://127.0.0.1:${elsewhere}` },
      /^problem: http:\S+ does not lead to this gateway: its answer, 200, is from elsewhere/u,
    );
    await applied({ ...via, url: "http://127.0.0.1:9" }, /^problem: http:\S+ cannot be reached: /u);
    await applied({ via: "command", command: ["/no/such/tool"] }, /^problem: command gives none: .* is not installed/u);
    terminal.signals.emit("SIGTERM");
    await code;
  }, 120_000);

  it("asks each model of an agent for a word, only when that is wanted", async () => {
    const model = await ModelEndpoint.listen();
    onTestFinished(() => model.close());
    mkdirSync(dirname(terminal.configFile), { recursive: true });
    const providers = { here: { baseUrl: model.baseUrl }, gone: { baseUrl: "http://127.0.0.1:9/v1" } };
    const list = [
      { id: "one", model: "here/small" },
      { id: "two", model: "here/small" },
      { id: "three", model: "gone/x" },
    ];
    const config = {
      gateway: { port: await freePort(), auth: { token: GATEWAY_TOKEN } },
      agents: { list },
      models: { providers },
      hooks: { enabled: true, token: "hook-token-of-these-tests-here" },
    };
    writeFileSync(terminal.configFile, JSON.stringify(config), { mode: 0o600 });
    expect((await findings()).join("\n")).not.toContain("here/small");
    expect(model.requests).toEqual([]);
    const live = (await findings("--live")).join("\n");
    expect(live).toMatch(/^ok models: here\/small \(one, two\) answered in \d+ ms$/mu);
    expect(live).toMatch(/^problem models: gone\/x \(three\) did not answer: /mu);
    expect(model.requests).toHaveLength(1);
  }, 60_000);

  it("prints what holds by the same means as one line", async () => {
    await terminal.run("doctor");
    const walls = terminal.out.split("\n").filter((line) => line.includes(": Node's permission model"));
    expect(walls).toHaveLength(1);
    expect(walls[0]).toContain("cannot read files outside of its folder, ");
  }, 60_000);
});
