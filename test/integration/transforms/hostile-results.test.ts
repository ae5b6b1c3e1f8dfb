import { existsSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { HOOK_TOKEN } from "../http/running-gateway.ts";
import { HostileGateway } from "./hostile-gateway.ts";

const CAUGHT = `
  const tried = (attempt) => {
    try {
      return String(attempt());
    } catch (error) {
      return "refused: " + error.message;
    }
  };`;

/** Calls a module that is good for something, and gives the message that its agent is sent. */
async function messageOf(hostile: HostileGateway, path: string, payload: object = {}): Promise<string> {
  const { status, body } = await hostile.call(path, payload);
  expect(status).toBe(202);
  const { runs } = await hostile.gateway.delivery(body["deliveryId"]);
  const spec = runs[0]?.spec;
  return spec?.kind === "agent" ? spec.message : "";
}

describe("a transform that hides what it does", () => {
  it("does not come to know the environment of the gateway", async () => {
    vi.stubEnv("REVEILLE_HOSTILE_SECRET", "secret-of-the-environment");
    const source = `import { readFileSync } from "node:fs";${CAUGHT}
      export default () => ({ message: [
        JSON.stringify(process.env),
        tried(() => readFileSync("/proc/self/environ", "utf8")),
        tried(() => readFileSync("/proc/" + process.ppid + "/environ", "utf8")),
        tried(() => JSON.stringify(process.report.getReport())),
      ].join("|") });`;
    await using hostile = await HostileGateway.start({ modules: { env: source } });
    const message = await messageOf(hostile, "env");
    expect(message).toMatch(/^\{\}\|refused: .*\|refused: .*\|refused: .*$/);
    expect(message).not.toContain("secret-of-the-environment");
  });

  it("reads no file outside of its folder, be it by a link that is placed after it was loaded", async () => {
    const source = `import { createReadStream, openAsBlob, readFileSync, statSync } from "node:fs";
      import { readFile } from "node:fs/promises";${CAUGHT}
      export default async ({ payload: { file, folder } }) => {
        const aims = [file, folder + "/later.txt", new URL("later.txt", import.meta.url), folder, "/etc/passwd"];
        const read = [];
        for (const aim of aims) {
          read.push(tried(() => readFileSync(aim, "utf8")), tried(() => statSync(aim).size));
          read.push(await readFile(aim, "utf8").catch((error) => "refused: " + error.message));
        }
        return { message: read.join("\\n") };
      };`;
    await using hostile = await HostileGateway.start({ modules: { reader: source } });
    const { configFile, folder } = hostile.gateway;
    const transforms = join(folder, "hooks", "transforms");
    symlinkSync(configFile, join(transforms, "later.txt"));
    const answers = (await messageOf(hostile, "reader", { file: configFile, folder: transforms })).split("\n");
    expect(answers).toHaveLength(15);
    for (const answer of answers) expect(answer).toMatch(/^refused: /);
    expect(answers.join()).not.toContain(HOOK_TOKEN);
    const refusal = "a change of transforms is refused; the versions before stay active";
    await vi.waitFor(() => expect(hostile.gateway.errors).toContain(refusal), 30_000);
    expect(await messageOf(hostile, "reader", { file: configFile, folder: transforms })).toBe(answers.join("\n"));
  });

  it("writes nothing anywhere", async () => {
    const source = `import * as fs from "node:fs";
      import { fileURLToPath } from "node:url";${CAUGHT}
      const own = fileURLToPath(import.meta.url);
      export default ({ payload: { file, folder } }) => ({ message: [
        tried(() => fs.writeFileSync(folder + "/written", "x")),
        tried(() => fs.appendFileSync(file, "x")),
        tried(() => fs.writeFileSync(own, "x")),
        tried(() => fs.mkdirSync(folder + "/made")),
        tried(() => fs.rmSync(file)),
        tried(() => fs.renameSync(file, file + "2")),
        tried(() => fs.symlinkSync("/etc/passwd", own + ".link")),
        tried(() => fs.linkSync(file, own + ".link")),
        tried(() => fs.chmodSync(file, 0o777)),
        tried(() => fs.truncateSync(file)),
        tried(() => fs.openSync(file, "r+")),
        tried(() => fs.mkdtempSync("/tmp/reveille-hostile-")),
        tried(() => fs.utimesSync(file, 1, 1)),
      ].join("\\n") });`;
    await using hostile = await HostileGateway.start({ modules: { writer: source } });
    const { configFile, folder } = hostile.gateway;
    const before = { text: readFileSync(configFile, "utf8"), names: readdirSync(folder) };
    const answers = (await messageOf(hostile, "writer", { file: configFile, folder })).split("\n");
    expect(answers).toHaveLength(13);
    for (const answer of answers) expect(answer).toMatch(/^refused: /);
    expect({ text: readFileSync(configFile, "utf8"), names: readdirSync(folder) }).toEqual(before);
    expect(existsSync(`${configFile}2`)).toBe(false);
  });
});

describe("a transform that means another than itself", () => {
  it("pollutes no prototype of the gateway with its result", async () => {
    const polluted = `{"__proto__":{"message":"polluted","allowUnsafeExternalContent":true},"constructor":{"prototype":{"sessionKey":"x"}},"thinking":"low"}`;
    const source = `export default () => JSON.parse(${JSON.stringify(polluted)});`;
    await using hostile = await HostileGateway.start({ modules: { polluter: source } });
    const { status, body } = await hostile.call("polluter", { n: 1 });
    expect(status).toBe(202);
    const { runs } = await hostile.gateway.delivery(body["deliveryId"]);
    expect(runs[0]?.spec).toMatchObject({ message: "Call 1.", thinking: "low", unsafe: false });
    expect(runs[0]?.spec).not.toMatchObject({ sessionKey: "x" });
    const plain: Record<string, unknown> = {};
    expect([plain["message"], plain["sessionKey"], plain["allowUnsafeExternalContent"]]).toEqual(
      Array.from({ length: 3 }),
    );
    await hostile.callOrdinarily("innocent");
  });

  it("spoils no call of another with what it leaves behind in its process", async () => {
    const leavers = {
      loop: "export default () => { setTimeout(() => { for (;;); }); return { message: 'left' }; };",
      heap: `export default () => {
        setTimeout(() => { const held = []; for (;;) held.push(Buffer.alloc(1_048_576, 1)); });
        return { message: "left" };
      };`,
      thrower:
        "export default () => { setInterval(() => { throw new Error('later'); }); return { message: 'left' }; };",
      patcher: `export default () => {
        JSON.stringify = () => "{";
        Promise.prototype.then = () => { throw new Error("patched"); };
        Array.prototype.push = () => { throw new Error("patched"); };
        Object.prototype.then = undefined;
        globalThis.Buffer = globalThis.Uint8Array = undefined;
        return { message: "left" };
      };`,
      listener: `export default () => {
        for (const name of ["exit", "beforeExit", "uncaughtException", "unhandledRejection"]) {
          process.removeAllListeners(name);
          process.on(name, () => { for (;;); });
        }
        return { message: "left" };
      };`,
    };
    await using hostile = await HostileGateway.start({ modules: leavers });
    for (const path of Object.keys(leavers)) {
      expect((await hostile.call(path)).status).toBe(202);
      for (let count = 0; count < 6; count++) await hostile.callOrdinarily("innocent");
    }
  });

  it("fills neither the log nor the memory of the gateway with what it writes to the console", async () => {
    const source = `export default () => {
      for (let line = 0; line < 20_000; line++) console.log("x".repeat(10_000));
      return { message: "written" };
    };`;
    await using hostile = await HostileGateway.start({ modules: { writer: source }, limits: { timeoutMs: 10_000 } });
    expect(await messageOf(hostile, "writer")).toBe("written");
    const lines = hostile.gateway.logger.lines.filter(({ message }) => message.startsWith("transform: "));
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(20);
    for (const { message } of lines) expect(message.length).toBeLessThan(1_100);
  });

  it("keeps the loaded code while a later edit is broken, even when its process is replaced", async () => {
    const looping = `import { text } from "./text.mjs";
      export default ({ payload }) => { while (payload.loop); return { message: text }; };`;
    await using hostile = await HostileGateway.start({
      modules: { versioned: looping, text: 'export const text = "one"; export default () => null;' },
    });
    const edited = join(hostile.gateway.folder, "hooks", "transforms", "text.mjs");
    expect(await messageOf(hostile, "versioned")).toBe("one");
    writeFileSync(edited, 'export const text = "two"; export default () => ');
    const refusal = "a change of transforms is refused; the versions before stay active";
    await vi.waitFor(() => expect(hostile.gateway.errors).toContain(refusal), 30_000);
    for (let round = 0; round < 3; round++) {
      await hostile.failed("versioned", { loop: true });
      expect(await messageOf(hostile, "versioned")).toBe("one");
    }
    writeFileSync(edited, 'export const text = "three"; export default () => null;');
    await vi.waitFor(async () => expect(await messageOf(hostile, "versioned")).toBe("three"), {
      timeout: 20_000,
      interval: 100,
    });
  });
});

describe("a transform that is called more often than it can answer", () => {
  it("is answered 503 once its queue is full, of which nothing is kept, and recovers", async () => {
    const slow = `export default async ({ payload }) => {
      await new Promise((resolve) => setTimeout(resolve, 150));
      return { message: "done " + payload.n };
    };`;
    await using hostile = await HostileGateway.start({ modules: { slow }, limits: { workers: 1, maxWaiting: 4 } });
    const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => hostile.call("slow", { n })));
    const taken = answers.filter(({ status }) => status === 202);
    const refused = answers.filter(({ status }) => status === 503);
    expect(taken.length + refused.length).toBe(60);
    expect(taken.length).toBeGreaterThanOrEqual(5);
    expect(refused.length).toBeGreaterThan(0);
    for (const { body, headers } of refused) {
      expect(body).toMatchObject({ ok: false, code: "BUSY" });
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
    const kept = (await hostile.gateway.deliveries()).map(({ id }) => id);
    expect(kept.toSorted()).toEqual(taken.map(({ body }) => String(body["deliveryId"])).toSorted());
    expect((await hostile.call("slow")).status).toBe(202);
  });

  it("leaves the calls of another their process", async () => {
    const endless = "export default () => { console.log('begun'); for (;;); };";
    const limits = { workers: 2, maxWaiting: 2, timeoutMs: 30_000 };
    await using hostile = await HostileGateway.start({ modules: { endless }, limits });
    const { logger } = hostile.gateway;
    let begunAndEnded = 0;
    const storm = Array.from({ length: 12 }, async () => {
      const { status } = await hostile.call("endless");
      if (status !== 503) begunAndEnded++;
    });
    await vi.waitFor(() => expect(logger.lines.map(({ message }) => message)).toContain("transform: begun"), 20_000);
    for (let count = 0; count < 12; count++) await hostile.callOrdinarily("innocent");
    expect(begunAndEnded).toBe(0);
    const over = Promise.allSettled(storm);
    await hostile.gateway.stop();
    await over;
  });
});
