import { describe, expect, it } from "vitest";
import { obedientWorker } from "./worker-harness.ts";

describe("the output of a module", () => {
  it("is bounded for each call separately, and never part of the protocol", async () => {
    await using worker = await obedientWorker();
    const code = "for (let i = 0; i < 10_000; i++) console.log('x'.repeat(3_000)); return { message: 'm' }";
    for (let turn = 0; turn < 2; turn++) {
      expect(await worker.call({ code })).toEqual({ message: "m" });
      const logs = worker.replies.filter(({ is }) => is === "log");
      expect(logs).toHaveLength(20);
      expect(logs[0]).toEqual({ is: "log", level: "info", text: "x".repeat(1_000) });
      worker.replies.length = 0;
    }
    expect(worker.stderr).toBe("");
  });

  it("has levels, whatever way it takes", async () => {
    await using worker = await obedientWorker();
    const code = `
      console.debug("a %d", 1); console.info({ b: 2 }); console.warn("c"); console.error(new Error("d").message);
      console.table([["e"]]); process.stdout.write("f\\n"); process.stderr.write(Buffer.from("g"));
      process.stdin.read(); process._rawDebug?.call;`;
    expect(await worker.call({ code })).toBeUndefined();
    const logs = worker.replies.flatMap((reply) => (reply.is === "log" ? [`${reply.level} ${reply.text}`] : []));
    expect(logs.slice(0, 4)).toEqual(["debug a 1", "info { b: 2 }", "warn c", "error d"]);
    expect(logs[4]).toContain("'e'");
    expect(logs.slice(5)).toEqual(["info f", "warn g"]);
    expect(worker.stderr).toBe("");
  });
});
