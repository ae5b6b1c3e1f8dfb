import { describe, expect, it } from "vitest";
import { SandboxLoadError } from "../../../../src/transform/errors.ts";
import { SandboxStartError } from "../../../../src/transform/errors.ts";
import type { SandboxIsolation } from "../../../../src/transform/sandbox/isolation/describe.ts";
import { scriptedChild } from "./pool-scripted-child.ts";
import { PoolSnapshot, call } from "./pool-snapshot.ts";
import { processesWith, until } from "./process-list.ts";

const MODULE = { "a.mjs": "export default () => null;" };
/** More than it may have and less than the kernel allows, and stays at that: the gateway may look late. */
const FILL = `const all = []; for (let at = 0; at < 400; at++) all.push(Buffer.alloc(1_000_000, 1)); for (;;) read();`;

const NO_WALLS: SandboxIsolation = {
  command: [],
  prlimit: undefined,
  network: "by-name",
  processes: "by-name",
  endsWithGateway: false,
  memoryWatch: true,
};

/** The result of one call of a child that has loaded, and then does what the script says. */
async function callScripted(
  script: string,
  limits: { timeoutMs?: number; maxResultBytes?: number } = {},
): Promise<unknown> {
  await using snapshot = new PoolSnapshot(MODULE);
  const entry = scriptedChild(snapshot, `load(); ${script}`);
  const pool = await snapshot.start({ workers: 1, timeoutMs: 20_000, ...limits }, { entry });
  return await pool.call(0, call("x")).catch((error: unknown) => String(error));
}

/** The result of starting a pool of children that do what the script says. */
async function startScripted(script: string, loadTimeoutMs = 20_000): Promise<unknown> {
  await using snapshot = new PoolSnapshot(MODULE);
  const entry = scriptedChild(snapshot, script);
  const failure = await snapshot.start({}, { entry, loadTimeoutMs }).catch((error: unknown) => error);
  await until(() => processesWith(snapshot.path).length === 0);
  return failure;
}

describe("a sandbox process that breaks the protocol is ended, and the call says how", () => {
  const broken: readonly (readonly [string, string, string])[] = [
    ["garbage", `take(); raw(Buffer.alloc(64, 0xff)); read();`, "a frame of 4294967295 bytes of JSON"],
    ["a body", `take(); raw(Buffer.from([0, 0, 0, 0, 1, 0, 0, 0, 1])); read();`, "0 bytes of JSON and 1 bytes of body"],
    ["no JSON", `take(); raw(frame("{")); read();`, "it said what is no reply"],
    ["no object", `take(); say(null); read();`, "it said what is no reply"],
    ["an unknown reply", `take(); say({ is: "root" }); read();`, "it said what is no reply"],
    ["an id that is no number", `take(); say({ is: "returned", id: "0" }); read();`, "it said what is no reply"],
    ["a reason that is no text", `take(); say({ is: "failed", id, reason: {} }); read();`, "it said what is no reply"],
    [
      "a level that there is not",
      `take(); say({ is: "log", level: "x", text: "" }); read();`,
      "it said what is no reply",
    ],
    ["failures that are none", `take(); say({ is: "loaded", failures: [{}] }); read();`, "it said what is no reply"],
    ["another id", `take(); say({ is: "returned", id: id + 1 }); read();`, "it answers an unknown call"],
    ["an id that is no number begun", `take(); say({ is: "begun", id: "0" }); read();`, "it said what is no reply"],
    ["a call begun twice", `take(); say({ is: "begun", id }); read();`, "it begins what is not its turn"],
    ["up twice", `take(); say({ is: "up" }); read();`, "it said twice that it is up"],
    ["loading again", `take(); say({ is: "loading", module: 0 }); read();`, "it loads a module out of turn"],
    ["loaded again", `take(); say({ is: "loaded", failures: [] }); read();`, "it has loaded an unknown module"],
    [
      "a line without end",
      `take(); say({ is: "log", level: "info", text: "x".repeat(20_000) }); read();`,
      "a line that is too long",
    ],
    ["lines without end", `take(); for (;;) say({ is: "log", level: "info", text: "x" });`, "it wrote too many lines"],
    ["stderr without end", `take(); for (;;) writeSync(2, "x".repeat(4096));`, "it fills stderr"],
  ];

  it.each(broken)("%s", { timeout: 60_000 }, async (_name, script, reason) => {
    const failure = await callScripted(script);

    expect(failure).toContain("TransformError: broke the protocol: ");
    expect(failure).toContain(reason);
  });

  it(
    "its end of the channel closed, in an isolation that does not hold the other end",
    { timeout: 60_000 },
    async () => {
      await using snapshot = new PoolSnapshot(MODULE);
      const script = `import { closeSync } from "node:fs"; load(); take(); closeSync(3); setInterval(() => {}, 1000);`;
      const entry = scriptedChild(snapshot, script);
      const pool = await snapshot.start({ workers: 1, timeoutMs: 20_000 }, { entry, isolation: NO_WALLS });

      await expect(pool.call(0, call("x"))).rejects.toThrow("broke the protocol: it closed its connection");
    },
  );

  it("a result over the limit", { timeout: 60_000 }, async () => {
    const script = `take(); say({ is: "returned", id, value: "x".repeat(30_000) }); read();`;
    expect(await callScripted(script, { maxResultBytes: 1_024 })).toContain("its result is too large");
    expect(await callScripted(script, { maxResultBytes: 30_100 })).toHaveLength(30_000);
  });
});

describe("a sandbox process that ends by itself", () => {
  it.each([
    ["by an exit code", `take(); process.exit(3);`, "ended its process (exit code 3)"],
    ["by a crash", `take(); process.abort();`, "crashed its process (SIG"],
    ["by an error", `take(); throw new Error("out of the loop");`, "ended its process (exit code 1)"],
    [
      "by its heap",
      `take(); const all = []; for (;;) all.push(new Array(100_000).fill(all));`,
      "ran out of its JavaScript heap of 128 MB",
    ],
  ])("%s fails the call with the reason", { timeout: 60_000 }, async (_name, script, reason) => {
    expect(await callScripted(script)).toContain(`TransformError: ${reason}`);
  });

  it("by too many buffers", { timeout: 60_000 }, async () => {
    expect(await callScripted(`take(); ${FILL}`)).toContain("TransformError: used more than 256 MB of memory");
  });

  it.each([
    ["ends", `process.exit(3);`, "ended its process (exit code 3)", 20_000],
    ["begins another call", `say({ is: "begun", id: 1 }); read();`, "it begins what is not its turn", 20_000],
    ["answers first", `say({ is: "returned", id: asked.id }); read();`, "it answers what it has not begun", 20_000],
    ["does not begin it", `read();`, "kept its process from the next call for 100 ms", 100],
  ])("instead of a call is tried ten times more when it %s", { timeout: 60_000 }, async (...given) => {
    const [, script, reason, timeoutMs] = given;
    await using snapshot = new PoolSnapshot(MODULE);
    const entry = scriptedChild(snapshot, `load(); const asked = read(); ${script}`);
    const pool = await snapshot.start({ workers: 1, timeoutMs }, { entry });

    await expect(pool.call(0, call("x"))).rejects.toThrow(reason);
    expect(pool.figures().restarts).toBe(11);
  });

  it("has a deadline also between two calls that it was sent", { timeout: 60_000 }, async () => {
    await using snapshot = new PoolSnapshot(MODULE);
    const script = `load(); take(); say({ is: "returned", id, value: "answered" }); read(); read();`;
    const entry = scriptedChild(snapshot, script);
    const pool = await snapshot.start({ workers: 1, timeoutMs: 1_000 }, { entry });

    expect(await Promise.all([pool.call(0, call(0)), pool.call(0, call(1))])).toEqual(["answered", "answered"]);
    const reasons = snapshot.lines.flatMap(({ fields }) => ("reason" in fields ? [fields.reason] : []));
    expect(reasons).toContain("kept its process from the next call for 1,000 ms");
  });

  it("keeps the answers that it gave before, and those behind are answered by its successor", async () => {
    await using snapshot = new PoolSnapshot(MODULE);
    const script = `load(); take(); say({ is: "returned", id, value: Math.random() }); process.exit(0);`;
    const pool = await snapshot.start({ workers: 1 }, { entry: scriptedChild(snapshot, script) });

    const [answered, behind] = await Promise.all([pool.call(0, call(0)), pool.call(0, call(1))]);

    expect(answered).not.toBe(behind);
    const told = snapshot.lines.filter(({ level }) => level === "warn");
    expect(told[0]).toEqual({
      level: "warn",
      fields: { module: "hooks/transforms/a.mjs", reason: "ended its process (exit code 0)" },
      message: "a process for transforms has ended after the last call of a module",
    });
  }, 60_000);
});

describe("what a sandbox process logs", () => {
  it("is one line of bounded length under the module's name, and not without bound", { timeout: 60_000 }, async () => {
    await using snapshot = new PoolSnapshot(MODULE);
    const script = `
      load(); take();
      say({ is: "log", level: "warn", text: "a\\n\\u001b[31mb" + "x".repeat(5_000) });
      for (let at = 0; at < 500; at++) say({ is: "log", level: "info", text: "again" });
      say({ is: "returned", id }); read();`;
    const pool = await snapshot.start({ workers: 1 }, { entry: scriptedChild(snapshot, script) });

    expect(await pool.call(0, call("x"))).toBeUndefined();

    const [first] = snapshot.lines;
    expect(first).toMatchObject({ level: "warn", fields: { module: "hooks/transforms/a.mjs" } });
    expect(first?.message).toMatch(/^transform: a \[31mbx+\.\.\.$/);
    expect(first?.message.length).toBeLessThan(1_100);
    expect(snapshot.lines.length).toBeGreaterThan(50);
    expect(snapshot.lines.length).toBeLessThan(300);
  });
});

describe("a sandbox process that does not come up", () => {
  it("names the module that is being loaded when it takes too long", { timeout: 60_000 }, async () => {
    const failure = await startScripted(
      `say({ is: "up" }); read(); say({ is: "loading", module: 0 }); for (;;);`,
      4_000,
    );

    expect(failure).toBeInstanceOf(SandboxLoadError);
    const message = "hooks/transforms/a.mjs: was not done after 4,000 ms while it was loaded";
    expect(failure).toMatchObject({ failures: [{ module: 0, message }], message });
  });

  it("names the module that ended it", { timeout: 60_000 }, async () => {
    const failure = await startScripted(
      `say({ is: "up" }); read(); say({ is: "loading", module: 0 }); process.exit(7);`,
    );

    const message = "hooks/transforms/a.mjs: ended its process (exit code 7) while it was loaded";
    expect(failure).toMatchObject({ failures: [{ module: 0, message }] });
  });

  it("names the module that filled the memory", { timeout: 60_000 }, async () => {
    const script = `say({ is: "up" }); read(); say({ is: "loading", module: 0 }); ${FILL}`;

    const message = "hooks/transforms/a.mjs: used more than 256 MB of memory while it was loaded";
    expect(await startScripted(script)).toMatchObject({ failures: [{ module: 0, message }] });
  });

  it("hands on what modules are broken", { timeout: 60_000 }, async () => {
    const failures = [{ module: 0, message: "hooks/transforms/a.mjs:1:3: odd" }];
    const failure = await startScripted(
      `say({ is: "up" }); read(); say({ is: "loaded", failures: ${JSON.stringify(failures)} }); read();`,
    );

    expect(failure).toMatchObject({ name: "SandboxLoadError", failures });
  });

  it.each([
    ["names a module that there is not", `say({ is: "up" }); read(); say({ is: "loading", module: 1 }); read();`],
    [
      "has failures of a module that there is not",
      `say({ is: "up" }); read(); say({ is: "loaded", failures: [{ module: 1, message: "" }] }); read();`,
    ],
    ["loads before it is asked", `say({ is: "loading", module: 0 }); read();`],
    ["answers before it is asked", `say({ is: "returned", id: 0 }); read();`],
  ])("is refused when it %s", { timeout: 60_000 }, async (_name, script) => {
    const failure = await startScripted(script);

    expect(failure).toBeInstanceOf(SandboxStartError);
    expect(String(failure)).toContain("a sandbox process for transforms broke the protocol");
  });

  it("hands on what Node complains of", { timeout: 60_000 }, async () => {
    const failure = await startScripted(`throw new RangeError("no such thing");`);

    expect(failure).toBeInstanceOf(SandboxStartError);
    expect(String(failure)).toContain("ended its process (exit code 1): RangeError: no such thing");
  });

  it("reports a missing program", { timeout: 60_000 }, async () => {
    await using snapshot = new PoolSnapshot(MODULE);
    const started = snapshot.start({}, { isolation: { ...NO_WALLS, command: ["/nowhere/unshare"] } });

    await expect(started).rejects.toThrow(/^a sandbox process for transforms could not be started: .*ENOENT/);
  });

  it("reports a missing folder", { timeout: 60_000 }, async () => {
    await using snapshot = new PoolSnapshot(MODULE);
    const started = snapshot.start({}, { folder: { path: `${snapshot.path}/none`, name: "x" } });

    await expect(started).rejects.toThrow(SandboxStartError);
  });

  it("has no more time for a module by naming it again", { timeout: 60_000 }, async () => {
    const failure = await startScripted(`say({ is: "up" }); read(); for (;;) say({ is: "loading", module: 0 });`);

    expect(String(failure)).toContain("a.mjs: broke the protocol: it loads a module out of turn while it was loaded");
  });

  it("is refused when it ends as soon as it is ready", { timeout: 60_000 }, async () => {
    const failure = await startScripted(`say({ is: "up" }); read();
      raw(Buffer.concat([frame('{"is":"loaded","failures":[]}'), frame("{")])); read();`);

    expect(String(failure)).toBe("SandboxStartError: a sandbox process for transforms ended as soon as it was ready");
  });

  it("is tried again later and later when it was there before", { timeout: 60_000 }, async () => {
    await using snapshot = new PoolSnapshot(MODULE);
    const entry = scriptedChild(snapshot, `load(); process.exit(1);`);
    const pool = await snapshot.start({ workers: 1 }, { entry });
    const delays = (): unknown[] =>
      snapshot.lines.flatMap(({ fields }) => ("retryMs" in fields ? [fields.retryMs] : []));

    await until(() => delays().length >= 3);

    expect(delays().slice(0, 3)).toEqual([100, 200, 400]);
    expect(pool.figures().restarts).toBeGreaterThan(0);
  });
});
