import { describe, expect, it } from "vitest";
import { SandboxChild } from "../../../../src/transform/sandbox/child.ts";
import type { SandboxReply } from "../../../../src/transform/sandbox/messages.ts";
import { scriptedChild } from "./pool-scripted-child.ts";
import { PoolSnapshot, call } from "./pool-snapshot.ts";

/** What a child says, and how it ends, when it is held to so many characters from the start. */
async function runChild(
  script: string,
  maxCharacters: number,
): Promise<{ readonly replies: readonly SandboxReply[]; readonly reason: string }> {
  await using snapshot = new PoolSnapshot({});
  const replies: SandboxReply[] = [];
  const { promise, resolve } = Promise.withResolvers<string>();
  const child = new SandboxChild({
    isolation: {
      command: [],
      prlimit: undefined,
      network: "by-name",
      processes: "by-name",
      endsWithGateway: false,
      memoryWatch: false,
    },
    folder: snapshot.path,
    maxMemoryBytes: 268_435_456,
    entry: scriptedChild(snapshot, script),
    maxReplyBytes: 1_048_576,
    onReply: (reply) => void replies.push(reply),
    onEnd: resolve,
  });
  child.limitReplies(maxCharacters);
  const reason = await promise;
  await child.ended;
  return { replies, reason };
}

describe("a reply that is longer than a process may send by now", () => {
  const script = `say({ is: "up" }); say({ is: "returned", id: 0, value: "x".repeat(1_000) }); process.exit(0);`;

  it("ends it, and is not read", { timeout: 60_000 }, async () => {
    expect(await runChild(script, 1_000)).toEqual({
      replies: [{ is: "up" }],
      reason: "broke the protocol: its result is too large",
    });
  });

  it("is read when it is not longer", { timeout: 60_000 }, async () => {
    expect(await runChild(script, 1_100)).toMatchObject({
      replies: [{ is: "up" }, { is: "returned" }],
      reason: "ended its process (exit code 0)",
    });
  });
});

describe("a result that is nested too deep", () => {
  it("fails the call, and its process stays", { timeout: 60_000 }, async () => {
    await using snapshot = new PoolSnapshot({
      "a.mjs": `let calls = 0;
        const deep = (depth) => depth === 0 ? {} : { name: deep(depth - 1) };
        export default ({ payload }) => { calls++; return payload === null ? { name: calls } : payload > 100 ? { list: Array(payload).fill(0) } : deep(payload); };`,
    });
    const pool = await snapshot.start({ workers: 1 });

    const failures = await Promise.all([64, 30_000].map((size) => pool.call(0, call(size)).catch(String)));

    expect(failures).toEqual([
      "TransformError: returned more than 64 levels of nesting",
      "TransformError: returned more than 20,000 values",
    ]);
    expect(await pool.call(0, call(null))).toEqual({ name: 3 });
  });
});
