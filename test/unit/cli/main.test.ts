import { execFileSync, spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
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

  it("ends when its reader has all of it, also one that reads late", () => {
    const printed = shell(`"$NODE" "$PROGRAM" config schema | { sleep 2; cat; }`);
    expect(printed.length).toBeGreaterThan(65_536);
    expect(JSON.parse(printed)).toMatchObject({ type: "object" });
  });

  it("ends in silence when its reader has ended before", () => {
    // Standard error, and then the exit code, go past the pipe.
    const printed = shell(`{ { "$NODE" "$PROGRAM" config schema 2>&3; echo "code $?" >&3; } | head -n 1 >&2; } 3>&1`);
    expect(printed).toBe("code 0\n");
  });

  it.runIf(existsSync("/dev/full"))("fails when the disk has no room for its output", () => {
    const printed = shell(`{ "$NODE" "$PROGRAM" config schema 2>&3 >/dev/full; echo "code $?"; } 3>&1`);
    expect(printed).toMatch(/^The output could not be written: .*\bENOSPC\b.*\ncode 1\n$/u);
  });
});

function shell(line: string): string {
  return execFileSync("/bin/sh", ["-c", line], {
    env: { ...process.env, NODE: process.execPath, PROGRAM: program, HOME: folder },
    encoding: "utf8",
    maxBuffer: 1e8,
  });
}
