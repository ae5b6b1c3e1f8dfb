import { spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import { MemoryWatch, onlyChildOf, ownBytes } from "../../../../src/transform/sandbox/memory-watch.ts";

describe("the memory of a process", () => {
  it("grows with what it fills, and is no longer known when it has ended", async () => {
    const script = `process.stdin.once("data", () => { globalThis.all = Buffer.alloc(100_000_000, 1); console.log("full"); });
      process.stdin.on("end", () => process.exit()); console.log("up");`;
    const child = spawn(process.execPath, ["--eval", script], { stdio: ["pipe", "pipe", "inherit"] });
    const said = (): Promise<unknown> => new Promise((resolve) => child.stdout.once("data", resolve));
    await said();
    const watch = MemoryWatch.open(Number(child.pid));
    const before = Number(watch?.read());
    const full = said();
    child.stdin.write("fill");
    await full;

    expect(before).toBeGreaterThan(1_000_000);
    expect(watch?.read()).toBeGreaterThan(before + 90_000_000);

    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.stdin.end();
    await ended;
    expect(watch?.read()).toBeUndefined();
    watch?.close();
    watch?.close();
    expect(watch?.read()).toBeUndefined();
  });

  it("is what is its own, in memory and swapped out", () => {
    const status = "VmRSS:\t  900 kB\nRssAnon:\t  100 kB\nRssFile:\t  790 kB\nRssShmem:\t   10 kB\nVmSwap:\t    5 kB\n";

    expect(ownBytes(status)).toBe(115 * 1_024);
    expect(ownBytes("VmRSS:\t  900 kB\nVmSwap:\t    5 kB\n")).toBe(900 * 1_024);
    expect(ownBytes("Name:\tnode\n")).toBeUndefined();
  });

  it("is not known of a process that there is not", () => {
    expect(MemoryWatch.open(0x7fff_ffff)).toBeUndefined();
    expect(onlyChildOf(0x7fff_ffff)).toBeUndefined();
  });
});
