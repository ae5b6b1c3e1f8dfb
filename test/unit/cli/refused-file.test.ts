import { mkdirSync, writeFileSync } from "node:fs";
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
