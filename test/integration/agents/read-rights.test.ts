import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import { baseConfig, callHook, GatewayFixture } from "../../unit/hosts/embedded/gateway/fixture.ts";
import { acts, endedRun, program, ToolModel } from "./acting-gateway.ts";

const fixture = new GatewayFixture();
const notes = join(fixture.folder, "notes.txt");
const NOTE = '[issues__add_note {"text":"noted"}]';
let model: ToolModel;
let gateway: EmbeddedGateway;

beforeAll(async () => {
  model = await ToolModel.start();
  process.env["NOTES"] = notes;
  const server = { command: [process.execPath, program("mcp-server.mjs")], env: ["NOTES"], isolation: "none" };
  const mapping = (id: string, more: object): object => ({
    id,
    match: { path: id },
    messageTemplate: "{{text}}",
    deliver: false,
    wakeMode: "next-heartbeat",
    agentId: "writer",
    acceptAllThree: "A test.",
    ...more,
  });
  const shared = { sessionKey: "hook:shared", sessionMode: "persistent" };
  fixture.write({
    ...baseConfig,
    models: { providers: { local: { baseUrl: `${model.origin}/v1` } } },
    agents: {
      defaults: { heartbeat: { every: "0m" }, model: "local/m" },
      list: [
        { id: "main", default: true },
        ...["writer", "waker"].map((id) => ({
          id,
          tools: { mcp: { issues: { ...server, outward: false } }, allow: ["issues.*"] },
          permissions: { allow: [{ tool: "issues.*" }] },
        })),
      ],
    },
    hooks: {
      ...baseConfig.hooks,
      allowRequestSessionKey: true,
      allowedSessionKeyPrefixes: ["hook:"],
      mappings: [
        mapping("free", {}),
        mapping("low", { ...shared, permissions: "reads" }),
        mapping("high", shared),
        mapping("wake-low", {
          action: "wake",
          agentId: "waker",
          permissions: "reads",
          wakeMode: "now",
          messageTemplate: undefined,
          textTemplate: "{{text}}",
        }),
      ],
    },
  });
  gateway = await fixture.start();
});
afterAll(async () => {
  await fixture.remove();
  await model.stop();
  delete process.env["NOTES"];
});

/** What the model was answered about the note that a text orders. */
const answers = (): readonly string[] =>
  model.requests.flatMap(({ messages }) =>
    messages.filter(({ role }) => role === "tool").map(({ content }) => content ?? ""),
  );

it("a run of a shared session may do no more than the least that an earlier text of it was given", async () => {
  expect(acts(await endedRun(gateway, "free", { text: NOTE }))).toMatchObject([{ kind: "call" }]);
  expect(readFileSync(notes, "utf8")).toBe("noted\n");
  expect(acts(await endedRun(gateway, "low", { text: NOTE }))).toMatchObject([{ kind: "denied" }]);
  expect(acts(await endedRun(gateway, "high", { text: "Good evening." }))).toMatchObject([{ kind: "denied" }]);
  expect(readFileSync(notes, "utf8")).toBe("noted\n");
});

it("a wake that a mapping has lowered leaves the main session no more, now and after a restart", async () => {
  const before = existsSync(notes) ? readFileSync(notes, "utf8") : "";
  for (const text of [NOTE, "Nothing new."]) {
    const asked = answers().length;
    expect((await callHook(gateway, "/hooks/wake-low", { text })).status).toBe(200);
    await vi.waitFor(() => expect(answers().length).toBeGreaterThan(asked), 10_000);
    expect(answers().at(-1)).toContain("do not allow it");
    await gateway.stop();
    gateway = await fixture.start();
  }
  expect(readFileSync(notes, "utf8")).toBe(before);
});
