import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { WorkerHarness, obedientWorker, workerWith } from "./worker-harness.ts";

const there = (name: string): { failed: string } => ({
  failed: expect.stringContaining(`${name} is not there for transforms`),
});
const NO_NETWORK = "a transform has no network (hooks.transforms.isolation)";

async function expectAlive(worker: WorkerHarness): Promise<void> {
  expect(await worker.call()).toEqual({ message: "ordinary" });
}

describe("a sandbox process, by name,", () => {
  it("has no function that ends or signals a process, or changes its rights", async () => {
    await using worker = await obedientWorker();
    const attempts = {
      "process.exit": "process.exit(0)",
      "process.abort": "process.abort()",
      "process.reallyExit": "process.reallyExit(0)",
      "process.kill": "process.kill(process.ppid, 'SIGKILL')",
      "process._kill": "process._kill(process.ppid, 9)",
      "process._debugProcess": "process._debugProcess(process.ppid)",
      "process.dlopen": "process.dlopen({ exports: {} }, '/lib/x.node')",
      "process.binding": "process.binding('fs')",
      "process._linkedBinding": "process._linkedBinding('fs')",
      "process.chdir": "process.chdir('/tmp')",
      "process.umask": "process.umask(0)",
      "process.setuid": "process.setuid(0)",
      "process.initgroups": "process.initgroups('root', 0)",
      "process.execve": "process.execve('/bin/true', [])",
      "process._getActiveHandles": "process._getActiveHandles()",
      "process.report.getReport": "process.report.getReport()",
      "os.setPriority": "require('os').setPriority(process.ppid, 19)",
      "v8.setFlagsFromString": "require('v8').setFlagsFromString('--max-old-space-size=9000')",
      "child_process.spawn": "require('child_process').spawn('/bin/true')",
      "child_process.fork": "require('child_process').fork('/tmp/x.js')",
      "worker_threads.Worker": "new (require('worker_threads').Worker)('1', { eval: true })",
      "wasi.WASI": "new (require('wasi').WASI)({ version: 'preview1', preopens: { '/': '/' } })",
      "inspector.open": "require('inspector').open(0)",
      "async_hooks.createHook": "require('async_hooks').createHook({})",
      "dgram._createSocketHandle": "require('dgram')._createSocketHandle(null, -1, 'udp4')",
      "tty.ReadStream": "new (require('tty').ReadStream)(3)",
      "tty.WriteStream": "new (require('tty').WriteStream)(3)",
      "fs.promises.open": "await require('fs').promises.open('a.ts')",
      "fs.promises.writeFile": "await require('fs/promises').writeFile('a.ts', '', { flag: 'r' })",
      "fs.promises.appendFile": "await require('fs/promises').appendFile('a.ts', '', { flag: 'r' })",
      "a stream of an open file or a connection (open)": "new (require('net').Socket)({ fd: 3 })",
      "trace_events.createTracing": "require('trace_events').createTracing({ categories: ['v8'] })",
      "file descriptor 3": "require('fs').writeSync(3, 'x')",
      "file descriptor 2": "require('fs').appendFileSync(2, 'x')",
    };
    for (const [name, code] of Object.entries(attempts)) expect(await worker.call({ code })).toEqual(there(name));
    const imported = { code: "const { exit } = require('node:process'); exit(1)" };
    expect(await worker.call(imported)).toEqual(there("process.exit"));
    await expectAlive(worker);
  });

  it("keeps its channel from a module that replaces what the guard could call", async () => {
    await using worker = await obedientWorker();
    const iterator = `
      const own = Array.prototype[Symbol.iterator];
      Array.prototype[Symbol.iterator] = function* () {};
      try { require("fs").writeSync(3, "forged"); } finally { Array.prototype[Symbol.iterator] = own; }`;
    expect(await worker.call({ code: iterator })).toEqual(there("file descriptor 3"));
    const apply = `
      const taken = [];
      const own = Reflect.apply;
      const ownCall = Function.prototype.call;
      const ownApply = Function.prototype.apply;
      Reflect.apply = (original) => taken.push(original);
      Function.prototype.call = Function.prototype.apply = function () { taken.push(this); };
      try { require("fs").fstatSync(99); } catch {}
      Reflect.apply = own;
      Function.prototype.call = ownCall;
      Function.prototype.apply = ownApply;
      return { message: String(taken.length) };`;
    expect(await worker.call({ code: apply })).toEqual({ message: "0" });
    await expectAlive(worker);
  });

  it("keeps arguments of other modules from one that replaces the iterator of arrays", async () => {
    await using worker = new WorkerHarness({
      "spy.mjs": `
        const own = Array.prototype[Symbol.iterator];
        const seen = [];
        Array.prototype[Symbol.iterator] = function () { seen.push(this.join()); return own.call(this); };
        export default () => ({ message: String(seen.includes("the other's line")) });`,
      "logs.mjs": `export default () => { console.log("the other's line"); return null; };`,
    });
    const { failures } = await worker.load(["spy.mjs", "logs.mjs"]);
    expect(failures).toEqual([]);

    expect(await worker.call({}, { module: 1 })).toBeNull();
    expect(await worker.call({}, { module: 0 })).toEqual({ message: "false" });
  });

  it("has the same isolation for builtins that are imported", async () => {
    await using worker = await workerWith(`
      import { exit } from "node:process";
      import { setFlagsFromString } from "node:v8";
      import { connect } from "node:net";
      const attempts = [() => exit(0), () => setFlagsFromString("--jitless"), () => connect(1)];
      export default ({ payload }) => attempts[payload.at]();`);
    expect(await worker.call({ at: 0 })).toEqual(there("process.exit"));
    expect(await worker.call({ at: 1 })).toEqual(there("v8.setFlagsFromString"));
    expect(await worker.call({ at: 2 })).toEqual({ failed: expect.stringContaining(NO_NETWORK) });
  });

  it("has no network, to nowhere and by no way, though one listens", async () => {
    await using worker = await obedientWorker();
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    const path = join(worker.outer, "listening.sock");
    await new Promise<void>((resolve) => server.listen({ host: "127.0.0.1", port: 0 }, resolve));
    const unix = createServer(() => connections++);
    await new Promise<void>((resolve) => unix.listen(path, resolve));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const attempts = [
      `await fetch('http://127.0.0.1:${port}/')`,
      `new WebSocket('ws://127.0.0.1:${port}/')`,
      `require('net').connect(${port}, '127.0.0.1')`,
      `require('net').connect('${path}')`,
      `new (require('net').Socket)().connect(${port})`,
      `require('tls').connect(${port}, '127.0.0.1')`,
      `await new Promise((done, fail) => require('http').get('http://127.0.0.1:${port}/', done).on('error', fail))`,
      `await new Promise((done, fail) => require('https').get('https://127.0.0.1:${port}/', done).on('error', fail))`,
      `await new Promise((done, fail) => require('http').get({ socketPath: '${path}' }, done).on('error', fail))`,
      `await new Promise((done, fail) => require('http2').connect('http://127.0.0.1:${port}/').on('error', fail))`,
      "require('net').createServer().listen(0)",
      "require('http').createServer().listen(0)",
      "require('http2').performServerHandshake(new (require('stream').PassThrough)())",
      "require('dgram').createSocket('udp4')",
      "require('dns').lookup('localhost', () => {})",
      "await require('dns').promises.lookup('localhost')",
      "await require('dns/promises').resolve4('localhost')",
      "await new (require('dns').promises.Resolver)().resolve4('localhost')",
      "new (require('dns').Resolver)().resolve4('localhost', () => {})",
    ];
    for (const code of attempts) {
      const answer = await worker.call({ code });
      expect([code, answer]).toEqual([code, { failed: expect.stringContaining(NO_NETWORK) }]);
    }
    await expectAlive(worker);
    expect(connections).toBe(0);
    server.close();
    unix.close();
  });

  it("has an empty environment, which modules may write to", async () => {
    await using worker = new WorkerHarness(
      { "a.js": "export default () => ({ message: JSON.stringify([{ ...process.env }, (process.env.A = 'b')]) })" },
      { env: { SECRET: "s3cret" } },
    );
    await worker.load(["a.js"]);
    expect(await worker.call()).toEqual({ message: '[{},"b"]' });
  });
});

describe("a sandbox process, by Node's permission model,", () => {
  it("reads no file outside, directly or by a link, and writes none", async () => {
    await using worker = await obedientWorker();
    writeFileSync(join(worker.outer, "outside"), "secret");
    for (const code of [
      "return { message: require('fs').readFileSync('/etc/passwd', 'utf8') }",
      "return { message: require('fs').readFileSync(payload.outside, 'utf8') }",
      "return { message: await require('fs').promises.readFile('/proc/self/environ', 'utf8') }",
      "return { message: require('fs').readdirSync('/').join() }",
      "require('fs').writeFileSync(payload.inside, 'x')",
      "require('fs').mkdtempSync('/tmp/reveille-')",
      "require(payload.outside + '.js')",
    ]) {
      const paths = { outside: join(worker.outer, "outside"), inside: join(worker.base, "new.ts") };
      const answer = await worker.call({ code, ...paths });
      expect([code, answer]).toEqual([code, { failed: expect.stringMatching(/restricted|Cannot find module/) }]);
    }
    await expectAlive(worker);
  });

  it("reads its own files in each way that there is", async () => {
    await using worker = await obedientWorker();
    const code = `
      const fs = require("fs");
      const texts = [
        await fs.promises.readFile(payload.file, "utf8"),
        String(await require("fs/promises").readFile(payload.file)),
        fs.readFileSync(payload.file, { encoding: "utf8" }),
      ];
      for await (const chunk of fs.createReadStream(payload.file)) texts.push(String(chunk));
      return { message: String(new Set(texts).size), name: texts[0] };`;
    const file = join(worker.base, "data.txt");
    writeFileSync(file, "data");
    expect(await worker.call({ code, file })).toEqual({ message: "1", name: "data" });
  });

  it("has no node:sqlite, whose ATTACH and VACUUM INTO the permission model does not see", async () => {
    await using worker = await obedientWorker();
    const code = "new (require('node:sqlite').DatabaseSync)(':memory:')";
    expect(await worker.call({ code })).toEqual({ failed: expect.stringMatching(/No such built-in module|not there/) });
  });
});

describe("the answers of a sandbox process", () => {
  it("cannot be forged or broken by patches of what they are made with", async () => {
    await using worker = await workerWith(`
      export default ({ payload }) => {
        if (payload === "ordinary") return { message: "ordinary" };
        const broken = () => { throw new Error("patched"); };
        JSON.stringify = () => '{"is":"returned","id":1,"value":{"message":"forged"}}';
        JSON.parse = broken;
        Object.prototype.toJSON = function () { return { message: "spoiled" }; };
        Buffer.from = broken; Buffer.byteLength = () => 1; Buffer.prototype.write = broken;
        Uint8Array.prototype.subarray = broken; Uint8Array.prototype.slice = broken;
        const typed = Object.getPrototypeOf(Uint8Array.prototype);
        typed.set = broken;
        for (const name of ["byteLength", "byteOffset"]) Object.defineProperty(typed, name, { get: broken });
        TextDecoder.prototype.decode = broken; TextEncoder.prototype.encodeInto = broken;
        Promise.prototype.then = broken; globalThis.Promise = broken; globalThis.setImmediate = broken;
        Array.prototype.push = broken; Array.prototype.shift = broken; Array.isArray = () => false;
        Reflect.apply = broken; Reflect.get = broken; Function.prototype.call = broken; Function.prototype.bind = broken;
        const fs = process.getBuiltinModule("fs");
        fs.readSync = broken; fs.writeSync = broken;
        process.getBuiltinModule("module").syncBuiltinESMExports();
        return { message: "patched" };
      };`);
    const ids = [worker.begin("patch"), worker.begin("ordinary"), worker.begin("ordinary")];
    const answers = [await worker.take("returned", "failed"), await worker.take("returned", "failed")];
    answers.push(await worker.take("returned", "failed"));
    expect(answers.map(({ id }) => id)).toEqual(ids);
    // Its own results are its own to spoil.
    expect(answers[1]).toEqual({ is: "returned", id: ids[1], value: { message: "spoiled" } });
    expect(answers[2]).toEqual({ is: "returned", id: ids[2], value: { message: "spoiled" } });
  });

  it("survive what Object.prototype is given", async () => {
    await using worker = await workerWith(`
      Object.prototype.id = 99; Object.prototype.is = "log"; Object.prototype.reason = "x";
      Object.prototype.export = "other"; Object.prototype.event = "forged";
      export default ({ payload }) => (payload.fail ? Promise.reject(undefined) : { message: "m" });`);
    expect(await worker.call({ fail: true })).toEqual({ failed: "threw undefined" });
    expect(await worker.call()).toEqual({ message: "m" });
  });

  it("report a __proto__ that a module returns like any other key", async () => {
    await using worker = await workerWith(
      `export default () => JSON.parse('{ "message": "m", "__proto__": { "polluted": 1 } }')`,
    );
    const value = await worker.call();
    expect(Object.keys(value as object)).toEqual(["message", "__proto__"]);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  it("are failures for results that cannot be written, whatever code they run", async () => {
    await using worker = await obedientWorker();
    const cases: readonly (readonly [string, string | RegExp])[] = [
      ["return 10n", /^returned what cannot be written as JSON: threw TypeError: .*BigInt/],
      ["const a = {}; a.a = a; return a", /^returned what cannot be written as JSON: threw TypeError: .*circular/],
      ["return () => 1", /^returned a function; it has to return an object/],
      ["return Symbol('s')", /^returned a symbol; it has to return/],
      ["return Infinity", /^returned Infinity; it has to return/],
      ["return [{}, undefined]", /^returned undefined in the place of an action at \[1\]; it has to return/],
      ["return { toJSON() {} }", /^returned what has no JSON/],
      [
        "return { get a() { throw new Error('gotten') } }",
        /^returned what cannot be written as JSON: threw Error: gotten/,
      ],
      ["return new Proxy({}, { ownKeys() { throw 1 } })", /^returned what cannot be written as JSON: threw 1/],
      ["return new Proxy([], { get() { throw undefined } })", /threw undefined$/],
      ["return { then(resolve) { resolve(this.then = 10n) } }", /BigInt/],
      ["return { get then() { throw new Error('no then') } }", /^threw Error: no then/],
      [
        "return { message: 'x'.repeat(200_000) }",
        "returned 200014 bytes; hooks.transforms.maxResultBytes allows 100000",
      ],
      ["return { message: 'x'.repeat(100_000_000) }", /^returned 100000014 bytes/],
      ["throw undefined", "threw undefined"],
      ["throw null", "threw null"],
      ["throw 'a text\\nof two lines'", "threw 'a text\\nof two lines'"],
      ["throw new Proxy(new Error('p'), { get() { throw 1 }, getPrototypeOf() { throw 2 } })", /^threw /],
      ["throw Object.defineProperty(new Error('e'), 'message', { get() { throw 1 } })", /throws when it is looked at$/],
      ["throw Object.assign(new Error('e'), { stack: 7, name: Symbol('s') })", "threw Symbol(s): e"],
      ["throw { [Symbol.for('nodejs.util.inspect.custom')]() { throw 1 } }", /^threw \{/],
      ["throw new Error('x'.repeat(100_000))", /^threw Error: x{293}\.\.\./],
      [
        "return await new Promise((_, fail) => setTimeout(() => fail(new RangeError('late')), 5))",
        /^threw RangeError: late/,
      ],
      [
        "setTimeout(() => { throw new Error('in a timer') }, 5); return await new Promise(() => {})",
        /^threw Error: in a timer/,
      ],
      ["Promise.reject(new Error('unhandled')); return await new Promise(() => {})", /^threw Error: unhandled/],
      ["function f() { f() } f()", /^threw RangeError: Maximum call stack/],
    ];
    for (const [code, reason] of cases) {
      const failed: unknown = typeof reason === "string" ? reason : expect.stringMatching(reason);
      expect([code, await worker.call({ code })]).toEqual([code, { failed }]);
    }
    await expectAlive(worker);
  }, 60_000);

  it("never come for a thenable that never settles, and the process waits for its end", async () => {
    await using worker = await obedientWorker();
    worker.begin({ code: "return { then() {} }" });
    worker.begin();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(worker.replies.filter(({ is }) => is === "returned" || is === "failed")).toEqual([]);
    expect(worker.child.exitCode).toBeNull();
  });

  it("come once, whatever a thenable calls and however often", async () => {
    await using worker = await obedientWorker();
    const code =
      "return { then(yes, no) { yes({ message: 'one' }); no(new Error('two')); yes({ message: 'three' }); throw new Error('four') } }";
    expect(await worker.call({ code })).toEqual({ message: "one" });
    const late = "setTimeout(() => { throw new Error('beside') }); return { message: 'in time' }";
    expect(await worker.call({ code: late })).toEqual({ message: "in time" });
    await expectAlive(worker);
  });
});
