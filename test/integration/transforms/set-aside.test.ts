/** A transform that does not load sets its mapping aside, or keeps the version that works; the rest serves. */
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { AgentSpec } from "../../../src/core/run.ts";
import { TransformProcess } from "../cli/transform-process.ts";
import { RunningGateway } from "../http/running-gateway.ts";

const SOON = { timeout: 60_000, interval: 20 };
const saying = (text: string): string => `export default () => ({ message: "${text}" });`;
const mappingOf = (name: string): object => ({
  id: name,
  match: { path: name },
  transform: { module: `${name}.mjs` },
  deliver: false,
  wakeMode: "next-heartbeat",
});
const MAPPINGS = [mappingOf("a"), mappingOf("b")];

async function say(gateway: RunningGateway, name: string): Promise<string | number> {
  const { status, body } = await gateway.post(`/hooks/${name}`, {});
  if (status !== 202) return status;
  return ((await gateway.delivery(body["deliveryId"])).runs[0]!.spec as AgentSpec).message;
}

describe.each(["process", "none"] as const)("a transform that does not load, isolation %s", (isolation) => {
  const transforms = { isolation, workers: 2, timeoutMs: 30_000 };

  it.each([
    ["is missing", undefined, "there is no such file"],
    ["does not compile", "export default () => {", "a.mjs:1"],
    ["throws while it is loaded", "throw new Error('boom');", "boom"],
    ["exports no function", "export const other = 1;", "exports neither"],
  ])("sets its mapping aside at a start when it %s, until a change repairs it", async (_, source, reason) => {
    const files = { ...(source !== undefined && { "a.mjs": source }), "b.mjs": saying("b") };
    await using gateway = await RunningGateway.start({
      hooks: { mappings: MAPPINGS, transforms },
      transforms: files,
    });
    const refused = await gateway.post("/hooks/a", {});
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, expect.stringMatching(/^\d+$/u)]);
    expect(await say(gateway, "b")).toBe("b");
    expect(JSON.stringify(gateway.logger.lines)).toContain(reason);
    gateway.writeTransform("a.mjs", saying("repaired"));
    await vi.waitFor(async () => expect(await say(gateway, "a")).toBe("repaired"), SOON);
    expect(await say(gateway, "b")).toBe("b");
  });

  it("is never loaded when it lies outside of the folder", async () => {
    const gateway = await RunningGateway.start();
    await using running = gateway;
    gateway.writeTransform("b.mjs", saying("b"));
    mkdirSync(join(gateway.folder, "elsewhere"));
    gateway.writeTransform(
      "../../elsewhere/a.mjs",
      "globalThis.wasLoadedFromOutside = true; export default () => ({});",
    );
    symlinkSync(join(gateway.folder, "elsewhere", "a.mjs"), join(gateway.folder, "hooks", "transforms", "a.mjs"));
    gateway.writeHooks({ mappings: MAPPINGS, transforms });
    expect((await running.reload()).applied).toBe(true);
    expect(await say(gateway, "a")).toBe(503);
    expect(JSON.stringify(gateway.logger.lines)).toContain("a transform is a file inside of hooks/transforms");
    expect(Reflect.get(globalThis, "wasLoadedFromOutside")).toBeUndefined();
  });

  it("keeps its mapping's settings and module of before when a reload breaks it, and the rest is taken", async () => {
    await using gateway = await RunningGateway.start({
      hooks: { mappings: MAPPINGS, transforms },
      transforms: { "a.mjs": saying("a1"), "b.mjs": saying("b1") },
    });
    for (const round of [2, 3]) {
      gateway.writeTransform("a.mjs", "export default () => {");
      gateway.writeTransform("b.mjs", saying(`b${round}`));
      gateway.writeHooks({ mappings: [{ ...mappingOf("a"), timeoutSeconds: 77 }, mappingOf("b")], transforms });
      expect((await gateway.reload()).applied).toBe(true);
      expect([await say(gateway, "a"), await say(gateway, "b")]).toEqual(["a1", `b${round}`]);
    }
    const { body } = await gateway.post("/hooks/a", {});
    expect((await gateway.delivery(body["deliveryId"])).runs[0]!.spec).not.toMatchObject({ timeoutMs: 77_000 });
    gateway.writeTransform("a.mjs", saying("a4"));
    await vi.waitFor(async () => expect(await say(gateway, "a")).toBe("a4"), SOON);
  });

  it("keeps its version of before when an edit breaks it, and an edit of another one takes effect", async () => {
    await using gateway = await RunningGateway.start({
      hooks: { mappings: MAPPINGS, transforms },
      transforms: { "a.mjs": saying("a1"), "b.mjs": saying("b1") },
    });
    gateway.writeTransform("a.mjs", "export default () => {");
    gateway.writeTransform("b.mjs", saying("b2"));
    await vi.waitFor(async () => expect(await say(gateway, "b")).toBe("b2"), SOON);
    expect(await say(gateway, "a")).toBe("a1");
  });
});

describe("--strict", () => {
  it.each([["serve", "--port", "0"], ["check"]])("refuses the file in a process of its own: %s", async (...command) => {
    using program = new TransformProcess({ mappings: MAPPINGS });
    program.module("a.mjs", saying("a"));
    program.start(...command, "--strict");
    expect(await program.ended()).not.toBe(0);
    expect(program.err).toContain("hooks.mappings[1].transform.module: hooks/transforms/b.mjs: there is no such file");
  });

  it("is what makes it refused: check alone says what is set aside, and doctor names it", async () => {
    using program = new TransformProcess({ mappings: MAPPINGS });
    program.module("a.mjs", saying("a"));
    program.start("check");
    expect(await program.ended()).toBe(0);
    expect(program.out).toContain("b.mjs: there is no such file; this part is set aside");
    program.start("doctor");
    expect(await program.ended()).toBe(1);
    expect(program.out).toContain("b is set aside, and its calls are answered 503");
  });
});
