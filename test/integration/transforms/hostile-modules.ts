/** Transforms that mean harm: what the author of each might try, and the words that its delivery has to end with. */
export interface HostileModule {
  readonly name: string;
  readonly source: string;
  /** The reason that is recorded. */
  readonly reason: RegExp;
}

/** What the modules of these tests are held to. */
export const HOSTILE_LIMITS = {
  timeoutMs: 1_000,
  workers: 2,
  maxMemory: "160mb",
  maxResultBytes: "256kb",
};

const TOO_LONG = /took longer than 1,000 ms/;
const OUT_OF_MEMORY =
  /used more than 160 MB of memory|ran out of its JavaScript heap of 80 MB|Array buffer allocation failed/;
const NO_RIGHT = /access|permission|not there for transforms/i;
const NO_NETWORK = /no network|EPERM|ENETUNREACH|EAI_AGAIN|permission/i;
const NO_JSON = /returned what (?:cannot be written as|has no) JSON/;

export const hostileModules: readonly HostileModule[] = [
  {
    name: "an endless loop",
    source: "export default () => { for (;;); };",
    reason: TOO_LONG,
  },
  {
    name: "a loop of promises",
    source: "export default async () => { for (;;) await null; };",
    reason: TOO_LONG,
  },
  {
    name: "a loop of microtasks and timers",
    source: `export default () => new Promise(() => {
      const again = () => { queueMicrotask(again); };
      setImmediate(again);
    });`,
    reason: TOO_LONG,
  },
  {
    name: "a wait that never ends",
    source: "export default () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);",
    reason: TOO_LONG,
  },
  {
    name: "a regexp bomb",
    source: `export default () => ({ message: String(/^(a+)+$/.test("a".repeat(60) + "!")) });`,
    reason: TOO_LONG,
  },
  {
    name: "a recursion without end",
    source: "export default function again() { return again() + 1; }",
    reason: /Maximum call stack size exceeded/,
  },
  {
    name: "process.exit",
    source: "export default () => process.exit(0);",
    reason: /process\.exit is not there for transforms/,
  },
  {
    name: "process.abort",
    source: "export default () => process.abort();",
    reason: /process\.abort is not there for transforms/,
  },
  {
    name: "an exit by the name that process.exit uses",
    source: "export default () => process.reallyExit(3);",
    reason: /process\.reallyExit is not there for transforms/,
  },
  {
    name: "a signal to its parent",
    source: `export default () => process.kill(process.ppid, "SIGKILL");`,
    reason: /process\.kill is not there for transforms/,
  },
  {
    name: "the inspector of another process",
    source: "export default () => process._debugProcess(process.ppid);",
    reason: /process\._debugProcess is not there for transforms/,
  },
  {
    name: "fork",
    source: `import { fork } from "node:child_process";
      export default () => fork("./other.js");`,
    reason: NO_RIGHT,
  },
  {
    name: "a shell",
    source: `import { execSync } from "node:child_process";
      export default () => ({ message: execSync("id").toString() });`,
    reason: NO_RIGHT,
  },
  {
    name: "a worker",
    source: `import { Worker } from "node:worker_threads";
      export default () => new Worker("for (;;);", { eval: true });`,
    reason: NO_RIGHT,
  },
  {
    name: "an addon",
    source: `export default () => process.dlopen({ exports: {} }, "/lib/x86_64-linux-gnu/libc.so.6");`,
    reason: NO_RIGHT,
  },
  {
    name: "an internal binding",
    source: `export default () => process.binding("spawn_sync");`,
    reason: NO_RIGHT,
  },
  {
    name: "the inspector",
    source: `import { open } from "node:inspector";
      export default () => open(0);`,
    reason: NO_RIGHT,
  },
  {
    name: "a heap snapshot",
    source: `import { writeHeapSnapshot } from "node:v8";
      export default () => ({ message: writeHeapSnapshot("/tmp/reveille-hostile.heapsnapshot") });`,
    reason: NO_RIGHT,
  },
  {
    name: "reading /etc/passwd",
    source: `import { readFileSync } from "node:fs";
      export default () => ({ message: readFileSync("/etc/passwd", "utf8") });`,
    reason: NO_RIGHT,
  },
  {
    name: "loading a file from outside",
    source: `import { createRequire } from "node:module";
      export default () => ({ message: JSON.stringify(createRequire("/etc/")("/etc/passwd")) });`,
    reason: /outside|access|permission|cannot find module/i,
  },
  {
    name: "a database outside",
    source: `export default () => {
      const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
      new DatabaseSync("/tmp/reveille-hostile.db").exec("CREATE TABLE t (x)");
    };`,
    reason: /not there for transforms|permission|access|undefined/i,
  },
  {
    name: "writing beside itself",
    source: `import { writeFileSync } from "node:fs";
      export default () => writeFileSync(new URL("written.txt", import.meta.url), "x");`,
    reason: NO_RIGHT,
  },
  {
    name: "fetch",
    source: `export default async ({ payload }) => ({ message: await (await fetch(payload.url)).text() });`,
    reason: NO_NETWORK,
  },
  {
    name: "a connection to the gateway",
    source: `import { connect } from "node:net";
      export default ({ payload }) => new Promise((resolve, reject) => {
        connect(payload.port, "127.0.0.1").on("connect", () => resolve({ message: "connected" })).on("error", reject);
      });`,
    reason: NO_NETWORK,
  },
  {
    name: "a socket in the file system",
    source: `import { connect } from "node:net";
      export default ({ payload }) => new Promise((resolve, reject) => {
        connect(payload.socket).on("connect", () => resolve({ message: "connected" })).on("error", reject);
      });`,
    reason: NO_NETWORK,
  },
  {
    name: "a datagram",
    source: `import { createSocket } from "node:dgram";
      export default () => new Promise((resolve, reject) => {
        createSocket("udp4").send("x", 53, "127.0.0.1", (error) => error ? reject(error) : resolve({ message: "sent" }));
      });`,
    reason: NO_NETWORK,
  },
  {
    name: "a question to a name server",
    source: `import { lookup } from "node:dns/promises";
      export default async () => ({ message: JSON.stringify(await lookup("example.com")) });`,
    reason: NO_NETWORK,
  },
  {
    name: "a getter in the result that throws",
    source: `export default () => ({ get message() { throw new Error("from a getter"); } });`,
    reason: /from a getter/,
  },
  {
    name: "a getter in the result that never returns",
    source: "export default () => ({ get message() { for (;;); } });",
    reason: TOO_LONG,
  },
  {
    name: "a toJSON that never returns",
    source: "export default () => ({ toJSON() { for (;;); } });",
    reason: TOO_LONG,
  },
  {
    name: "a proxy as the result that throws",
    source: `export default () => new Proxy({}, { ownKeys() { throw new Error("from a proxy"); } });`,
    reason: /from a proxy/,
  },
  {
    name: "a proxy as the result that has no end",
    source: `export default () => new Proxy([], { get: (target, name) => name === "length" ? 2 ** 32 - 1 : {} });`,
    reason: /took longer than 1,000 ms|memory|heap|returned/,
  },
  {
    name: "more actions than there may be",
    source: "export default () => Array.from({ length: 5_000 }, () => ({}));",
    reason: /returned 5000 actions; hooks\.maxFanOut allows/,
  },
  {
    name: "a result in a circle",
    source: "export default () => { const result = {}; result.message = result; return result; };",
    reason: NO_JSON,
  },
  {
    name: "a bigint as the result",
    source: "export default () => 1n;",
    reason: NO_JSON,
  },
  {
    name: "a function as the result",
    source: "export default () => () => {};",
    reason: /returned a function/,
  },
  {
    name: "fields of other types than they have",
    source: `export default () => ({ message: ["x"], deliver: "yes", timeoutSeconds: -1 });`,
    reason: /returned no action: .*message/,
  },
  {
    name: "throwing undefined",
    source: "export default () => { throw undefined; };",
    reason: /threw undefined/,
  },
  {
    name: "throwing what throws when it is looked at",
    source: `export default () => {
      throw new Proxy(new Error("x"), { get() { throw new Error("again"); } });
    };`,
    reason: /^The transform \S+ (?:threw|failed)/,
  },
  {
    name: "an error whose message never ends",
    source: `export default () => {
      throw Object.defineProperty(new Error(), "message", { get() { for (;;); } });
    };`,
    reason: /took longer than 1,000 ms|threw/,
  },
  {
    name: "an error of 10 MB",
    source: `export default () => { throw new Error("x".repeat(10_000_000)); };`,
    reason: /^.{1,3000}$/,
  },
  {
    name: "a promise that never settles",
    source: "export default () => new Promise(() => {});",
    reason: TOO_LONG,
  },
  {
    name: "a thenable that never settles",
    source: "export default () => ({ then() {} });",
    reason: TOO_LONG,
  },
  {
    name: "a thenable that settles to itself",
    source: "export default () => { const self = { then: (resolve) => resolve(self) }; return self; };",
    reason: TOO_LONG,
  },
  {
    name: "a thenable whose then throws",
    source: `export default () => ({ get then() { throw new Error("from then"); } });`,
    reason: /from then/,
  },
  {
    name: "an error beside the call",
    source: `export default () => new Promise(() => {
      setTimeout(() => { throw new Error("from a timer"); });
    });`,
    reason: /from a timer/,
  },
  {
    name: "a rejection that nobody handles",
    source: `export default () => new Promise(() => {
      Promise.reject(new Error("unhandled"));
    });`,
    reason: /unhandled/,
  },
  {
    name: "a reply of its own making",
    source: `import { writeSync } from "node:fs";
      export default () => {
        writeSync(3, Buffer.from("an answer"));
      };`,
    reason: /file descriptor 3 is not there for transforms/,
  },
];

/** Those that use up memory, for which a machine that is busy needs more time than one call has otherwise. */
export const memoryBombs: readonly HostileModule[] = [
  {
    name: "a heap bomb",
    source: `export default () => {
      const held = [];
      for (;;) held.push(Array.from({ length: 1_000 }, (_, at) => ({ at, text: "x" + at })));
    };`,
    reason: OUT_OF_MEMORY,
  },
  {
    name: "a Buffer bomb",
    source: `export default () => {
      const held = [];
      for (;;) held.push(Buffer.alloc(1_048_576, 1));
    };`,
    reason: OUT_OF_MEMORY,
  },
  {
    name: "a Buffer bomb that takes breaths",
    source: `export default async () => {
      const held = [];
      for (;;) {
        held.push(Buffer.alloc(4_194_304, 1));
        await new Promise((resolve) => setImmediate(resolve));
      }
    };`,
    reason: OUT_OF_MEMORY,
  },
  {
    name: "a bomb of WebAssembly memory",
    source: `export default () => {
      const held = [];
      for (;;) {
        const memory = new WebAssembly.Memory({ initial: 256 });
        new Uint8Array(memory.buffer).fill(1);
        held.push(memory);
      }
    };`,
    reason: /used more than 160 MB of memory|RangeError/,
  },
  {
    name: "a result of 100 MB",
    source: `export default () => ({ message: "x".repeat(100_000_000) });`,
    reason:
      /returned 1000000\d\d bytes; hooks\.transforms\.maxResultBytes allows 262144|out of its JavaScript heap|memory/,
  },
];
