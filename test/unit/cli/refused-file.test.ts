import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RecordedProcess } from "./recorded-process.ts";

let terminal: RecordedProcess;
beforeEach(() => {
  terminal = new RecordedProcess();
});
afterEach(() => {
  terminal.remove();
});

function configure(hooks: object): void {
  mkdirSync(dirname(terminal.configFile), { recursive: true });
  const config = {
    gateway: { auth: { token: "gateway-token-of-these-tests" }, shutdownSeconds: 5 },
    agents: { defaults: { heartbeat: { every: "0m" } } },
    hooks: { enabled: true, token: "hook-token-of-these-tests-here", ...hooks },
  };
  writeFileSync(terminal.configFile, JSON.stringify(config), { mode: 0o600 });
}

describe("a command, when the running gateway has refused the file", () => {
  it("says so first, with the time and what is wrong", async () => {
    configure({});
    const { url, code } = await terminal.serve();
    for (const args of [
      ["deliveries", "list"],
      ["hooks", "list"],
      ["deliveries", "list", "--json"],
    ]) {
      terminal.err = "";
      expect([await terminal.run(...args, "--url", url), terminal.err]).toEqual([0, ""]);
    }
    configure({ presets: ["githb"] });
    terminal.signals.emit("SIGHUP");
    for (const args of [
      ["deliveries", "list"],
      ["hooks", "list"],
      ["deliveries", "list", "--json"],
    ]) {
      await vi.waitFor(async () => {
        terminal.err = "";
        expect(await terminal.run(...args, "--url", url)).toBe(0);
        expect(terminal.err).toMatch(
          /^The running gateway refused the file at \d{4}-\d\d-\d\dT\S+Z .*:\n {2}hooks\.presets/u,
        );
      }, 15_000);
    }
    terminal.signals.emit("SIGTERM");
    await code;
  });
});

it("says when what answers is no gateway", async () => {
  configure({});
  const server = createServer((_, res) => res.setHeader("content-type", "text/html").end("<html>Hello</html>"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    for (const args of [["deliveries", "list"], ["console"], ["hooks", "pause", "*"]]) {
      terminal.err = "";
      expect(await terminal.run(...args, "--url", url)).toBe(1);
      expect(terminal.err).toBe(
        `What answers under ${url} is no gateway: its answer is not JSON. Is --url right, or gateway.port?\n`,
      );
    }
    terminal.err = "";
    expect(await terminal.run("deliveries", "list", "--url", url.slice("http://".length))).toBe(1);
    expect(terminal.err).toMatch(/^--url must begin with http:\/\/ or https:\/\//u);
  } finally {
    server.close();
  }
});

it("says that it waits for a gateway that takes the connection and does not answer", async () => {
  configure({});
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ended = terminal.run("deliveries", "list", "--url", url);
  await vi.waitFor(() => {
    expect(terminal.err).toBe(`${url} has not answered for 5 seconds; it is waited for.\n`);
  }, 15_000);
  server.close();
  server.closeAllConnections();
  expect(await ended).toBe(1);
}, 30_000);
