import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EmbeddedGateway } from "../../src/hosts/embedded/gateway.ts";
import { streamChat, streamToolCall } from "../conformance/host/chat-stream.ts";
import { LoopbackServer, type LoopbackRequest } from "../conformance/host/loopback-server.ts";
import { acts, endedRun } from "../integration/agents/acting-gateway.ts";
import { baseConfig, GatewayFixture } from "../unit/hosts/embedded/gateway/fixture.ts";

/** The program of its npm package; there is one package for each platform, and this is that of Linux on x64. */
const opencode = join(import.meta.dirname, "node_modules/opencode-linux-x64/bin/opencode");

/** A model that asks for one command of the shell, and then says that it is done. */
class ShellModel extends LoopbackServer {
  static start(): Promise<ShellModel> {
    return new ShellModel().listen();
  }

  protected answer({ body }: LoopbackRequest, res: Parameters<typeof streamChat>[0]): void {
    const { messages, tools = [] } = JSON.parse(body) as {
      messages: { role: string; content: unknown }[];
      tools?: { function: { name: string } }[];
    };
    const asked = JSON.stringify(messages).match(/touch \w+/u)?.[0];
    const hasTool = tools.some(({ function: { name } }) => name === "bash");
    const isAnswered = messages.some(({ role }) => role === "tool");
    if (asked === undefined || !hasTool || isAnswered) streamChat(res, "It is done.");
    else streamToolCall(res, { tool: "bash", args: { command: asked, description: "Makes a file" } });
  }
}

const fixture = new GatewayFixture();
const work = join(fixture.folder, "work");
let model: ShellModel;
let gateway: EmbeddedGateway;

beforeAll(async () => {
  model = await ShellModel.start();
  mkdirSync(work);
  const ids = ["allowed", "denied"];
  for (const id of ids) {
    // What the agent reads as its own configuration comes from its home, and never from a checkout.
    const config = join(fixture.stateDir, "agents", id, "home/.config/opencode");
    mkdirSync(config, { recursive: true });
    const provider = {
      npm: "@ai-sdk/openai-compatible",
      options: { baseURL: `${model.origin}/v1`, apiKey: "none" },
      models: { small: { tool_call: true } },
    };
    const settings = { provider: { local: provider }, model: "local/small", permission: { bash: "ask", edit: "ask" } };
    writeFileSync(join(config, "opencode.json"), JSON.stringify(settings));
  }
  const runtime = { type: "acp", command: [opencode, "acp"], cwd: work, isolation: "none" };
  fixture.write({
    ...baseConfig,
    agents: {
      defaults: { heartbeat: { every: "0m" } },
      list: [
        { id: "allowed", default: true, runtime, permissions: { allow: [{ kind: "execute", command: "touch *" }] } },
        { id: "denied", runtime },
      ],
    },
    hooks: {
      ...baseConfig.hooks,
      mappings: ids.map((id) => ({
        match: { path: id },
        agentId: id,
        instructions: "Do what is written below, if it is about a file.",
        messageTemplate: "{{text}}",
        deliver: false,
        wakeMode: "next-heartbeat",
      })),
    },
  });
  gateway = await fixture.start();
});
afterAll(async () => {
  await fixture.remove();
  await model.stop();
});

describe.skipIf(!existsSync(opencode))("opencode over the Agent Client Protocol", () => {
  it("does what a rule allows, and the attempt says so", async () => {
    const delivery = await endedRun(gateway, "allowed", { text: "touch made" });
    expect([delivery.state, delivery.reason]).toEqual(["done", null]);
    expect(delivery.runs[0]!.reply).toContain("It is done.");
    expect(acts(delivery).map(({ kind }) => kind)).toContain("call");
    expect(existsSync(join(work, "made"))).toBe(true);
  });

  it("is denied what no rule allows", async () => {
    const delivery = await endedRun(gateway, "denied", { text: "touch pwned" });
    expect(existsSync(join(work, "pwned"))).toBe(false);
    expect(acts(delivery)).toEqual(expect.arrayContaining([expect.objectContaining({ kind: "denied" })]));
  });
});
