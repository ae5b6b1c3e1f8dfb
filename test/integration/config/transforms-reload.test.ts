import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { DeliveryDetail } from "../../../src/core/delivery.ts";
import { nodesWith } from "../../unit/transform/sandbox/process-list.ts";
import { wireRequest } from "../http/http-connection.ts";
import { AUTHORIZED, RunningGateway } from "../http/running-gateway.ts";

const SOON = { timeout: 30_000, interval: 20 };
const CALLS = 200;
const CLIENTS = 4;
const MAPPINGS = [{ match: { path: "code" }, transform: { module: "code.ts" }, deliver: false }];
const REFUSED = "a change of transforms is refused; the versions before stay active";

/** Says a word that another file of the folder has. */
const CODE = `import { word } from "./word.ts";\nexport default () => ({ message: word });`;
const wordIs = (word: string): string => `export const word: string = ${JSON.stringify(word)};`;
/** Waits before it says its word. */
const slowly = (word: string): string =>
  `import { setTimeout } from "node:timers/promises";\nexport default async () => { await setTimeout(8_000); return { message: "${word}" }; };`;

function start(isolation: "process" | "none", transforms: Readonly<Record<string, string>>): Promise<RunningGateway> {
  const hooks = {
    mappings: MAPPINGS,
    transforms: { isolation, workers: 2, timeoutMs: 60_000 },
    bodyTimeoutSeconds: 60,
  };
  return RunningGateway.start({ hooks, transforms });
}

/** What the transform has said, by the outcome of a call. */
async function say(gateway: RunningGateway): Promise<string | undefined> {
  const { status, body } = await gateway.post("/hooks/code", {});
  if (status !== 202) return `${status} ${String(body["code"])}`;
  return messageOf(await gateway.delivery(body["deliveryId"]));
}

function messageOf({ runs }: DeliveryDetail): string | undefined {
  const spec = runs[0]?.spec;
  return spec?.kind === "agent" ? spec.message : undefined;
}

/** The copies of the folder that sets of transforms live on. */
function copies(gateway: RunningGateway): number {
  const folder = join(gateway.folder, "state", "transforms");
  return existsSync(folder) ? readdirSync(folder).length : 0;
}

describe.each(["process", "none"] as const)("a transform file that changes, with isolation %s", (isolation) => {
  it(`takes effect by itself, during ${CALLS} calls of which none fails; a broken edit is reported`, async () => {
    await using gateway = await start(isolation, { "code.ts": CODE, "word.ts": wordIs("first") });
    const answers = new Map<string | undefined, number>();
    const load = { left: CALLS, isOn: true };
    const calling = Array.from({ length: CLIENTS }, async () => {
      while (load.isOn || load.left > 0) {
        load.left--;
        const answer = await say(gateway);
        answers.set(answer, (answers.get(answer) ?? 0) + 1);
      }
    });
    await vi.waitFor(() => expect(answers.get("first")).toBeGreaterThan(0), SOON);
    gateway.writeTransform("word.ts", wordIs("second"));
    await vi.waitFor(() => expect(answers.get("second")).toBeGreaterThan(0), SOON);

    gateway.writeTransform("word.ts", `export const other = 1;\nexport const word: string = ;`);
    const refusals = () => gateway.logger.lines.filter(({ message }) => message === REFUSED);
    await vi.waitFor(() => expect(refusals()).not.toEqual([]), SOON);
    expect(await say(gateway)).toBe("second");

    gateway.writeTransform("word.ts", wordIs("third"));
    await vi.waitFor(() => expect(answers.get("third")).toBeGreaterThan(0), SOON);
    load.isOn = false;
    await Promise.all(calling);
    expect(new Set(answers.keys())).toEqual(new Set(["first", "second", "third"]));
    expect([...answers.values()].reduce((sum, count) => sum + count)).toBeGreaterThanOrEqual(CALLS);
    // Only the broken edit was refused; the system may tell of one edit twice.
    for (const { fields } of refusals()) {
      expect(String(fields["issues"])).toMatch(/^hooks\.mappings\[0\]\.transform\.module: .*word\.ts:2:\d+/);
    }
    await vi.waitFor(() => expect(copies(gateway)).toBe(isolation === "process" ? 1 : 0), SOON);
  });

  it("does not touch a call in progress, which is answered by the code that it started with, also when the configuration changes", async () => {
    await using gateway = await start(isolation, { "code.ts": slowly("first") });
    const slow = say(gateway);
    // No signal of a transform leaves its process, so it is given a fourth of its time to begin.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    gateway.writeTransform("code.ts", `export default () => ({ message: "second" });`);
    gateway.writeHooks({ mappings: MAPPINGS, transforms: { isolation }, maxDepth: 20 });
    expect(await gateway.reload()).toEqual({ applied: true, restartNeeded: [] });
    const next = await say(gateway);
    expect([next, await slow]).toEqual(["second", "first"]);
  });
});

describe("the processes of an active configuration", () => {
  it("continue for the requests that began with it, and are gone when these have ended", async () => {
    await using gateway = await start("process", { "code.ts": `export default () => ({ message: "first" });` });
    const before = nodesWith(gateway.folder);
    expect(before.length).toBeGreaterThan(0);
    // It has been let in, and its body is awaited.
    const slow = await gateway.connect();
    const headers = [AUTHORIZED, "Expect: 100-continue", "Content-Length: 2"];
    slow.send(wireRequest({ target: "/hooks/code", headers }));
    expect((await slow.answer()).status).toBe(100);
    gateway.writeTransform("code.ts", `export default () => ({ message: "second" });`);
    gateway.writeHooks({ mappings: MAPPINGS, transforms: { isolation: "process" } });
    expect(await gateway.reload()).toEqual({ applied: true, restartNeeded: [] });
    expect(await say(gateway)).toBe("second");
    expect(nodesWith(gateway.folder).filter((pid) => before.includes(pid))).toHaveLength(before.length);
    slow.send("{}");
    const { status, text } = await slow.answer();
    expect(status).toBe(202);
    const { deliveryId } = JSON.parse(text) as { deliveryId: string };
    expect(messageOf(await gateway.delivery(deliveryId))).toBe("first");
    await vi.waitFor(() => expect(nodesWith(gateway.folder).filter((pid) => before.includes(pid))).toEqual([]), SOON);
    await vi.waitFor(() => expect(copies(gateway)).toBe(1), SOON);
    await gateway.stop();
    expect([nodesWith(gateway.folder), copies(gateway)]).toEqual([[], 0]);
  });

  it("are gone when no mapping has a transform any more, and there again when one has", async () => {
    await using gateway = await start("process", { "code.ts": CODE, "word.ts": wordIs("first") });
    gateway.writeHooks({});
    await gateway.reload();
    await vi.waitFor(() => expect(nodesWith(gateway.folder)).toEqual([]), SOON);
    gateway.writeTransform("word.ts", wordIs("second"));
    gateway.writeHooks({ mappings: MAPPINGS });
    await gateway.reload();
    expect(await say(gateway)).toBe("second");
    gateway.writeTransform("word.ts", wordIs("third"));
    await vi.waitFor(async () => expect(await say(gateway)).toBe("third"), SOON);
  });
});
