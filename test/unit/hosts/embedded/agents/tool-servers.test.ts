import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { RunRights } from "../../../../../src/hosts/embedded/agents/run-rights.ts";
import { ToolBox, ToolServerError } from "../../../../../src/hosts/embedded/agents/tool-servers.ts";
import type { ToolServer } from "../../../../../src/hosts/embedded/config/tools.ts";

const program = fileURLToPath(new URL("../../../../fixtures/agents/lying-server.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "reveille-tools-"));
const boxes: ToolBox[] = [];
afterEach(() => Promise.all(boxes.splice(0).map((box) => box.close())));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const marks = { isPrivate: true, isOutward: true };
const server = (...args: string[]): ToolServer => ({
  ...marks,
  program: {
    command: [process.execPath, program, ...args],
    env: [],
    read: [],
    write: [],
    cwd: undefined,
    isConfined: false,
  },
});

async function opened(
  servers: Readonly<Record<string, ToolServer>>,
  onStart: (turn: AbortController) => void = () => {},
): Promise<ToolBox> {
  const turn = new AbortController();
  const { signal } = turn;
  const rights = new RunRights({
    own: "all",
    lowered: [],
    isWithOwner: false,
    approvals: { ask: () => Promise.resolve("denied") },
    approvalTimeoutMs: 1_000,
    of: { agentId: "a", sessionKey: "s", runId: "r" },
    cwd: folder,
    clock: { now: () => 0 },
    signal,
    onHold: () => {},
  });
  const allow = Object.keys(servers).map((name) => `${name}.*`);
  const place = { cwd: folder, isReadOnly: false, home: join(folder, "home"), egress: [], ofGateway: [] };
  const box = await ToolBox.open(
    { servers: new Map(Object.entries(servers)), allow, maxSteps: 3 },
    { rights, signal, startOf: (_name, config) => (onStart(turn), { config, ...place, variables: {} }) },
  );
  boxes.push(box);
  return box;
}

describe("a server of tools that cannot be used", () => {
  it("leaves no other one behind that is still being connected", async () => {
    const file = join(folder, "slow.pid");
    const failed = opened({ bad: server("fail"), slow: server("slow", file) });
    await expect(failed).rejects.toThrow('The tool server "bad" could not be used: it ended with status 1');
    await vi.waitFor(() => expect(existsSync(file)).toBe(true), 15_000);
    const pid = Number(readFileSync(file, "utf8"));
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), 5_000);
  });

  it("is ended when the turn ends while it is being started", async () => {
    const mark = join(folder, "aborted.pid");
    const failed = opened({ x: server("plain", mark) }, (turn) => setImmediate(() => turn.abort()));
    await expect(failed).rejects.toThrow(ToolServerError);
    await sleep(1_000);
    expect(execFileSync("ps", ["-eo", "args="], { encoding: "utf8" })).not.toContain(mark);
  });

  it("says why in a few words, also when it lists nothing", async () => {
    for (const mode of ["fail", "unlisted"]) {
      const failed = await opened({ bad: server(mode) }).catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(ToolServerError);
      expect((failed as ToolServerError).message.length).toBeLessThan(2_200);
    }
  });
});

describe("a server of tools", () => {
  it("may say in its JSON whatever ends a line elsewhere", async () => {
    const box = await opened({ x: server("lines") });
    const said = await box.call({ id: "c", name: "x__tool0", arguments: "{}" });
    for (const word of ["é one", "two", "three", "four", "five"]) expect(said).toContain(word);
  });

  it("tells of several people, none of whom hides what another one wrote", async () => {
    const box = await opened({ x: server("issues") });
    const said = await box.call({ id: "c", name: "x__tool0", arguments: "{}" });
    expect(said).toContain('[{"body":"a <! -"},{"body":"the second"},{"body":"--> b"}]');
  });
});

describe("a server of tools that says too much", () => {
  it("lists no more than a thousand tools, and none with a long name", async () => {
    expect((await opened({ x: server("many") })).definitions).toHaveLength(1_000);
    expect((await opened({ x: server("long") })).definitions.map(({ function: { name } }) => name)).toEqual([
      "x__tool0",
    ]);
  });

  it("cannot fill the request to the model with descriptions", async () => {
    await expect(opened({ x: server("wordy") })).rejects.toThrow("more than 1000000 characters");
  });

  it("gives the model a part of a long result", async () => {
    const box = await opened({ x: server("plain") });
    const said = await box.call({ id: "c", name: "x__tool0", arguments: "{}" });
    expect(said).toContain("rrr");
    expect(said.length).toBeLessThan(101_000);
  });

  it("is not read any more in the middle of a message without an end", async () => {
    await expect(opened({ x: server("endless") })).rejects.toThrow(
      'The tool server "x" could not be used: it wrote a message of more than 16777216 bytes',
    );
  });

  it("is not read to the end of an answer over HTTP that has none", async () => {
    const http = createServer((_req, res) => {
      res.writeHead(200, { "content-type": "application/json" });
      const chunk = Buffer.alloc(1_000_000, " ");
      const more = (): void => {
        while (!res.destroyed && res.write(chunk));
      };
      res.on("drain", more);
      more();
    });
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    const { port } = http.address() as AddressInfo;
    const endless: ToolServer = { ...marks, url: `http://127.0.0.1:${port}/mcp`, headers: {} };
    await expect(opened({ x: endless })).rejects.toThrow(ToolServerError);
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
});

it("a server over HTTP that does not answer the end of its session holds up no turn", async () => {
  const asked: string[] = [];
  const http = createServer((req, res) => {
    asked.push(req.method ?? "");
    if (req.method !== "POST") return;
    void text(req).then((body) => {
      const { id, method } = JSON.parse(body) as { readonly id?: number; readonly method: string };
      const serverInfo = { name: "hangs", version: "1" };
      const results: Readonly<Record<string, object>> = {
        initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo },
        "tools/list": { tools: [] },
      };
      const result = results[method];
      const answer = result === undefined ? { error: { code: -32_601, message: "not found" } } : { result };
      res.writeHead(id === undefined ? 202 : 200, { "content-type": "application/json", "mcp-session-id": "s" });
      res.end(id === undefined ? undefined : JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  const box = await opened({ x: { ...marks, url: `http://127.0.0.1:${port}/mcp`, headers: {} } });
  await box.close();
  expect(asked).toContain("DELETE");
  http.closeAllConnections();
  http.close();
});
