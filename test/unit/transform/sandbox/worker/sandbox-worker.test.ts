import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { WorkerHarness, workerWith } from "./worker-harness.ts";

describe("a sandbox process that loads", () => {
  it("reports that it is up, each module before it loads, and then all failures with file, line and column", async () => {
    await using worker = new WorkerHarness({
      "good.ts": "export default () => null; export const other = () => 1;",
      "syntax.ts": "\n\nconst a = ;",
      "throws.ts": "import './good.ts';\nconst n: number = 1;     throw new TypeError('boom ' + n);",
      "imports.ts": "\n  import './throws.ts';",
      "outside.ts": "import '../elsewhere.ts'; export default () => null;",
      "no-await.cjs": "require('./awaits.mjs');",
      "awaits.mjs": "export const a = 1;\nexport const b =   await 3;",
      "timer.mjs": "setTimeout(() => { throw new Error('in a timer'); }); await new Promise(() => {});",
      "rejects.mjs": "Promise.reject(new Error('nobody')); await new Promise(() => {});",
      "hostile.mjs": "throw Object.defineProperty(new Error('e'), 'stack', { get() { throw 1; } });",
      "proxy.mjs": "throw new Proxy({}, { get() { throw 1; }, getPrototypeOf() { throw 2; } });",
      "exits.ts": "process.exit(0);",
      "names.ts": "export const a = 1;",
      "package.ts": "import 'broken'; export default () => null;",
      "node_modules/broken/index.js": "\n\n  export const n = null.x;",
    });
    expect(await worker.take("up")).toEqual({ is: "up" });
    const files = ["good", "syntax", "throws", "imports", "outside", "no-await.cjs", "timer.mjs", "rejects.mjs"];
    files.push("hostile.mjs", "proxy.mjs", "exits", "names", "missing", "package");
    const modules = files.map((file) => (file.includes(".") ? file : `${file}.ts`));
    const { failures } = await worker.load([...modules, { file: "good.ts", export: "none" }]);
    const name = "hooks/transforms/";
    expect(failures.map(({ module, message }) => `${module} ${message}`)).toEqual([
      `1 ${name}syntax.ts:3:11: Unexpected token`,
      `2 ${name}throws.ts:2:32: throws while it is loaded: TypeError: boom 1`,
      `3 ${name}throws.ts:2:32: throws while it is loaded: TypeError: boom 1 (loaded by ${name}imports.ts)`,
      `4 ${name}outside.ts:1:1: cannot import "../elsewhere.ts": it lies outside of hooks/transforms, the only folder to load from`,
      `5 ${name}awaits.mjs:2:20: await is only valid in async functions and the top level bodies of modules (loaded by ${name}no-await.cjs)`,
      `6 ${name}timer.mjs:1:26: throws while it is loaded: Error: in a timer`,
      `7 ${name}rejects.mjs:1:16: throws while it is loaded: Error: nobody`,
      `8 ${name}hostile.mjs: throws something, while it is loaded, that throws when it is looked at`,
      expect.stringMatching(/^9 .*proxy\.mjs: throws/),
      expect.stringContaining(`10 ${name}exits.ts:1:9: throws while it is loaded: Error: process.exit is not there`),
      `11 ${name}names.ts exports neither "default" nor "transform"; it exports a`,
      `12 ${name}missing.ts: there is no such file`,
      expect.stringMatching(/^13 .*node_modules\/broken\/index\.js:3: throws while it is loaded: TypeError/),
      `14 ${name}good.ts exports nothing named "none"; it exports default, other`,
    ]);
    const told = worker.replies.flatMap((reply) => (reply.is === "loading" ? [reply.module] : []));
    expect(told).toEqual([...modules, "last"].map((_, module) => module));
    expect(await worker.call()).toBeNull();
  });

  it("gives modules this package's own functions, packages of their folder, and one instance of what they share", async () => {
    await using worker = new WorkerHarness({
      "a.ts": `
        import { defineTransform, joinText, textAt } from "reveille";
        import { count } from "./shared.ts";
        import { word } from "words";
        import http from "node:http";
        export default defineTransform<{ a: string }>(({ payload }) =>
          ({ message: joinText(" ", textAt(payload, "a.b"), word, String(count()), typeof http.request) }));`,
      "b.cjs":
        "const { clip } = require('reveille'); module.exports = () => ({ message: clip('word', 3) + require('./shared').count() });",
      "shared.ts": "let calls = 0; export const count = () => ++calls;",
      "node_modules/words/package.json": '{ "type": "module", "exports": "./main.js" }',
      "node_modules/words/main.js": "export const word = 'packaged';",
    });
    worker.link("linked", ".");
    expect((await worker.load(["a.ts", "b.cjs", "linked/b.cjs"])).failures).toEqual([]);
    expect(await worker.call({ a: { b: "text" } })).toEqual({ message: "text packaged 1 function" });
    expect(await worker.call({}, { module: 1 })).toEqual({ message: "wo…2" });
    expect(await worker.call({}, { module: 2 })).toEqual({ message: "wo…3" });
  });

  it("waits at a top-level await that never ends, for the gateway to end it", async () => {
    await using worker = new WorkerHarness({ "hangs.mjs": "await new Promise(() => {});" });
    const loading = worker.load(["hangs.mjs"]);
    expect(await worker.take("loading")).toEqual({ is: "loading", module: 0 });
    worker.child.kill("SIGKILL");
    await expect(loading).rejects.toThrow("SIGKILL");
  });
});

describe("a sandbox process that is called", () => {
  it("gives the function all of the context, and the exact bytes as memory of their own", async () => {
    await using worker = await workerWith(`
      export default ({ payload, headers, query, url, path, method, rawBody, event, actor, deliveryId, time }) => ({
        message: JSON.stringify([payload, headers, query, url.href, path, method, rawBody.toString(), rawBody.buffer.byteLength,
          event, actor, deliveryId, time.toISOString()]) });`);
    const fields = {
      headers: { a: "b" },
      query: { q: "1" },
      path: "github/push",
      event: "push",
      actor: { name: "octocat", bot: false },
      deliveryId: "d-1",
      time: 1_000,
    };
    const answer = await worker.call({ n: 1 }, { fields, body: Buffer.from("bödy") });
    expect(JSON.parse((answer as { message: string }).message)).toEqual([
      { n: 1 },
      { a: "b" },
      { q: "1" },
      "http://localhost/github/push?q=1",
      "github/push",
      "POST",
      "bödy",
      5,
      "push",
      { name: "octocat", bot: false },
      "d-1",
      "1970-01-01T00:00:01.000Z",
    ]);
  });

  it("distinguishes undefined from null, and keeps arrays", async () => {
    await using worker = await workerWith(
      "export default async ({ payload }) => [undefined, null, false, [], [null, { text: 'a' }]][payload];",
    );
    worker.begin(0);
    expect(await worker.take("returned")).toEqual({ is: "returned", id: 1 });
    expect(await worker.call(1)).toBeNull();
    expect(await worker.call(2)).toBe(false);
    expect(await worker.call(3)).toEqual([]);
    expect(await worker.call(4)).toEqual([null, { text: "a" }]);
  });

  it("answers calls that arrive in one piece one after the other, in their order, slow ones included", async () => {
    await using worker = await workerWith(`
      let running = 0;
      export default async ({ payload }) => {
        running++;
        await new Promise((resolve) => setTimeout(resolve, payload.wait));
        return { message: payload.wait + " " + running-- };
      };`);
    worker.channel.cork();
    const ids = [20, 0, 5, 0].map((wait) => worker.begin({ wait, filler: "x".repeat(50_000) }));
    worker.channel.uncork();
    for (const [at, id] of ids.entries()) {
      expect(await worker.take("returned")).toEqual({
        is: "returned",
        id,
        value: { message: `${[20, 0, 5, 0][at]} 1` },
      });
    }
  });

  it("names the author's own line and column of an error, also of one thrown in a package", async () => {
    await using worker = new WorkerHarness({
      "a.ts": `import { run } from "lib";\ntype A = { n: number };\nexport default ({ payload }: { payload: A }) => {\n    const at: number = payload.n;   if (at === 1) run();\n  return   payload.missing.deep;\n};`,
      "b.ts":
        "import { run } from 'lib'; export default async () => { await null; setTimeout(run); await new Promise(() => {}); };",
      "node_modules/lib/index.js": "\nexports.run = () => { throw new RangeError('from the package'); };",
    });
    await worker.load(["a.ts", "b.ts"]);
    expect(await worker.call({ n: 1 })).toEqual({
      failed: "threw RangeError: from the package (hooks/transforms/a.ts:4:54)",
    });
    expect(await worker.call({ n: 2 })).toEqual({
      failed: "threw TypeError: Cannot read properties of undefined (reading 'deep') (hooks/transforms/a.ts:5:28)",
    });
    expect(await worker.call({}, { module: 1 })).toEqual({
      failed: "threw RangeError: from the package (hooks/transforms/node_modules/lib/index.js:2)",
    });
  });

  it("logs what goes wrong after a call", async () => {
    await using worker = await workerWith(
      "export default () => { void Promise.reject(new Error('forgotten')); return { message: 'm' }; };",
    );
    expect(await worker.call()).toEqual({ message: "m" });
    const text = "threw Error: forgotten (hooks/transforms/a.ts:1:44), outside of a call";
    expect(await worker.take("log")).toEqual({ is: "log", level: "error", text });
    expect(await worker.call()).toEqual({ message: "m" });
  });

  it("ends by itself while a call waits for something and its parent is killed", async () => {
    const files = { "a.mjs": "export default () => new Promise(() => {});" };
    await using worker = new WorkerHarness(files, { isGrandchild: true });
    await worker.load(["a.mjs"]);
    worker.begin();
    worker.child.kill("SIGKILL");
    await once(worker.channel, "close");
    expect(worker.replies.filter(({ is }) => is === "returned" || is === "failed")).toEqual([]);
  });

  it("ends when the gateway closes the channel", async () => {
    await using worker = await workerWith("export default () => null;");
    worker.channel.end();
    await worker.exited;
    expect(worker.child.exitCode).toBe(0);
  });

  it("ends with a reason for a request that it cannot understand", { timeout: 60_000 }, async () => {
    for (const text of ["{", '{"do":"call","module":7,"id":1}', '{"do":"dance"}']) {
      await using worker = await workerWith("export default () => null;");
      worker.channel.write(Buffer.concat([Buffer.from([text.length, 0, 0, 0, 0, 0, 0, 0]), Buffer.from(text)]));
      // What it wrote to stderr has been read only then.
      await once(worker.child, "close");
      expect(worker.child.exitCode).toBe(1);
      expect(worker.stderr).toMatch(/^(?:SyntaxError|Error: the gateway asks)/);
    }
  });

  it("ends with a reason when it is called before it has loaded anything", async () => {
    await using worker = new WorkerHarness({});
    worker.begin();
    await once(worker.child, "close");
    expect(worker.stderr).toBe("Error: asked for call before load\n");
  });
});
