import { hostileAnswers } from "./hostile-answers.ts";
import { TOO_LONG } from "./hostile-module.ts";
import type { HostileModule } from "./hostile-module.ts";

const NO_RIGHT = /access|permission|not there for transforms/i;
const NO_NETWORK = /no network|EPERM|ENETUNREACH|EAI_AGAIN|permission/i;

/** All but those that use up memory. */
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
  ...hostileAnswers,
];
