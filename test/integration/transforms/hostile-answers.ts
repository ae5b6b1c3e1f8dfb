import { TOO_LONG } from "./hostile-module.ts";
import type { HostileModule } from "./hostile-module.ts";

const NO_JSON = /returned what (?:cannot be written as|has no) JSON/;

/** Those that harm with what they return, throw or promise. */
export const hostileAnswers: readonly HostileModule[] = [
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
    reason: /took longer than 4,000 ms|memory|heap|returned/,
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
    reason: /took longer than 4,000 ms|threw/,
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
