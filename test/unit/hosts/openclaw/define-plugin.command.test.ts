import { Command } from "commander";
import { afterEach, expect, it } from "vitest";
import type { OpenClawConfig } from "../../../../src/hosts/openclaw/sdk.ts";
import { registerCommand } from "../../../../src/hosts/openclaw/define-plugin.ts";
import type { OpenClawCommandContext } from "../../../../src/hosts/openclaw/define-plugin.ts";
import { FakeOpenClaw } from "./fake-openclaw.ts";

const { exitCode } = process;
afterEach(() => {
  process.exitCode = exitCode;
});

it("hands everything behind its name to the plugin, options and help too, and ends with its exit code", async () => {
  using openClaw = new FakeOpenClaw();
  const ran: [readonly string[], OpenClawCommandContext][] = [];
  const announced: string[] = [];
  const program = new Command("openclaw").option("--profile <name>").exitOverride();
  const config: OpenClawConfig = { gateway: {} };
  const api = {
    ...openClaw.api,
    registerCli: (register: (context: never) => void, { descriptors }: { descriptors: { name: string }[] }) => {
      announced.push(...descriptors.map(({ name }) => name));
      register({ program, config } as never);
    },
  };
  registerCommand(api, {
    name: "reveille",
    description: "d",
    run: async (args, context) => {
      ran.push([args, context]);
      return 3;
    },
  });
  for (const args of [["deliveries", "list", "--json", "--state", "failed"], ["--help"], []]) {
    await program.parseAsync(["reveille", ...args], { from: "user" });
  }
  const context = { pluginId: "reveille", config, stateDir: openClaw.stateDir };
  expect(announced).toEqual(["reveille"]);
  expect(ran).toEqual([
    [["deliveries", "list", "--json", "--state", "failed"], context],
    [["--help"], context],
    [[], context],
  ]);
  expect(process.exitCode).toBe(3);
});

it("is left out where the host has no commands of plugins", () => {
  using openClaw = new FakeOpenClaw();
  expect(() => registerCommand(openClaw.api, { name: "r", description: "d", run: async () => 0 })).not.toThrow();
});
