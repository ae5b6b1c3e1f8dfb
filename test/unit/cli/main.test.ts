import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

const program = fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));
let folder: string;
const children: ChildProcessByStdio<null, Readable, Readable>[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reveille-process-"));
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, maxRetries: 5 });
});

interface Run {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  out: string;
  err: string;
}

function run(...args: readonly string[]): Run {
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...process.env, HOME: folder, REVEILLE_CONFIG: "", REVEILLE_STATE_DIR: "" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  const running: Run = { child, out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (running.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (running.err += text));
  return running;
}

describe("the process", { timeout: 120_000 }, () => {
  it("serves until SIGTERM: one line on standard output, JSON lines on standard error", async () => {
    const first = run("init");
    expect(await once(first.child, "close")).toEqual([0, null]);
    const serving = run("serve", "--port", "0");
    await vi.waitFor(() => {
      expect(serving.out).toMatch(/^Reveille is listening on http:\/\/127\.0\.0\.1:\d+\n$/u);
    }, 90_000);
    const url = serving.out.trimEnd().split(" ").at(-1);
    expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ ok: true });
    const hookToken = readFileSync(join(folder, ".reveille", "reveille.json5"), "utf8").match(/[0-9a-f]{48}/gu)?.[1];
    const woken = await fetch(`${url}/hooks/wake`, {
      method: "POST",
      headers: { Authorization: `Bearer ${hookToken}` },
      body: '{"text":"Good morning."}',
    });
    expect(woken.status).toBe(200);
    serving.child.kill("SIGTERM");
    expect(await once(serving.child, "close")).toEqual([0, null]);
    expect(serving.out.split("\n")).toHaveLength(2);
    const lines = serving.err
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { msg: string });
    expect(lines.map(({ msg }) => msg)).toContain("shutting down");
  });

  it("ends with code 1 and one sentence when it cannot start", async () => {
    const checking = run("check", "--config", join(folder, "none.json5"));
    expect(await once(checking.child, "close")).toEqual([1, null]);
    expect(checking.out).toBe("");
    expect(checking.err).toContain("the configuration cannot be read (ENOENT)");
    expect(checking.err).not.toContain("    at ");
  });
});
