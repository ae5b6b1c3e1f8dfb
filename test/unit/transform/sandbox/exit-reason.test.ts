import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { exitReason, megabytesText, millisecondsText } from "../../../../src/transform/sandbox/exit-reason.ts";
import { ModuleLog } from "../../../../src/transform/sandbox/module-log.ts";
import { readReply } from "../../../../src/transform/sandbox/read-reply.ts";

describe("the end of a sandbox process in words", () => {
  const facts = { code: null, signal: null, stderr: "", heapMegabytes: 128 };

  it.each([
    ["ended its process (exit code 0)", { code: 0 }],
    ["ended its process (exit code 200)", { code: 200 }],
    ["crashed its process (SIGSEGV)", { signal: "SIGSEGV" }],
    ["crashed its process (SIGABRT)", { code: 134 }],
    ["had its process killed from outside", { signal: "SIGKILL" }],
    ["had its process killed from outside", { code: 137 }],
    [
      "had its process killed from outside",
      { code: 1, stderr: "/usr/bin/unshare: sigprocmask unblock failed: Invalid argument\n" },
    ],
    ["ran out of its JavaScript heap of 128 MB", { signal: "SIGTRAP", stderr: "JavaScript heap out of memory" }],
  ])("%s", (words, known) => {
    expect(exitReason({ ...facts, ...known })).toBe(words);
  });

  it("has amounts that are easy to read", () => {
    expect(millisecondsText(2_000)).toBe("2,000 ms");
    expect(megabytesText(268_435_456)).toBe("256 MB");
  });
});

describe("the log of modules", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => void vi.useRealTimers());

  it("drops lines that are too many, and says how many when it continues", () => {
    const lines: [string, object, string][] = [];
    const at = (level: string) => (fields: object, message: string) => void lines.push([level, fields, message]);
    const log = new ModuleLog({ debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") });
    const write = (text: string): void => log.write({ is: "log", level: "error", text }, "a.ts");

    for (let line = 0; line < 150; line++) write(String(line));
    expect(lines).toHaveLength(100);
    vi.advanceTimersByTime(100);
    write("after");

    expect(lines.slice(100)).toEqual([
      ["warn", { module: "a.ts", dropped: 50 }, "transforms write too many lines"],
      ["error", { module: "a.ts" }, "transform: after"],
    ]);
  });
});

describe("a reply of a sandbox process", () => {
  it("keeps what was returned as it is, and what else it says short and in one line", () => {
    expect(readReply('{"is":"returned","id":0,"value":{"__proto__":{"a":1}},"x":2}')).toEqual({
      is: "returned",
      id: 0,
      value: JSON.parse('{"__proto__":{"a":1}}') as object,
    });
    expect(readReply('{"is":"returned","id":3}')).toEqual({ is: "returned", id: 3 });
    expect(readReply('{"is":"failed","id":1,"reason":"a\\r\\nb\\u2028c\\u0007"}')).toEqual({
      is: "failed",
      id: 1,
      reason: "a b c ",
    });
    expect(readReply(JSON.stringify({ is: "failed", id: 1, reason: "x".repeat(9_999) }))).toMatchObject({
      reason: `${"x".repeat(2_000)}...`,
    });
    expect(readReply('{"is":"loaded","failures":[{"module":1,"message":"a\\nb","more":1}]}')).toEqual({
      is: "loaded",
      failures: [{ module: 1, message: "a b" }],
    });
  });

  it.each([
    "",
    "[]",
    "7",
    '{"is":"returned"}',
    '{"is":"returned","id":-1}',
    '{"is":"returned","id":1.5}',
    '{"is":"returned","id":1e300}',
    '{"is":"loading","module":"0"}',
    '{"is":"failed","id":1}',
    '{"is":"loaded","failures":{}}',
    '{"is":"loaded","failures":[null]}',
    '{"is":"loaded","failures":["a"]}',
    '{"is":"log","level":"info","text":1}',
    '{"is":"log","level":"toString","text":""}',
  ])("is none that reads %s", (json) => {
    expect(readReply(json)).toBeUndefined();
  });

  const nested = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  const list = (length: number): string => `[${Array.from({ length }, () => 1).join(",")}]`;
  const object = (keys: number): string =>
    JSON.stringify(Object.fromEntries(Array.from({ length: keys }, (_, at) => [`k${at}`, at])));
  const returned = (value: string): string => `{"is":"returned","id":7,"value":${value}}`;

  it.each([
    ["64 levels of nesting", nested(64)],
    ["20,000 values", list(20_000)],
    ["prose with marks in it", JSON.stringify(`${'a, b: [{"c\\\\": '.repeat(20_000)}\\`)],
  ])("holds a result of %s", (_, value) => {
    expect(readReply(returned(value))).toEqual({ is: "returned", id: 7, value: JSON.parse(value) as unknown });
  });

  it.each([
    ["more than 64 levels of nesting", nested(65)],
    ["more than 64 levels of nesting", nested(500_000)],
    ["more than 20,000 values", list(20_002)],
    ["more than 20,000 values", object(100_000)],
    ["more than 20,000 values", `["\\"","\\\\",${list(20_000).slice(1)}`],
  ])("fails its call that returned %s, which is not built (%#)", (reason, value) => {
    const parse = vi.spyOn(JSON, "parse");
    expect(readReply(returned(value))).toEqual({ is: "failed", id: 7, reason: `returned ${reason}` });
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
  });

  it.each([
    ["something else", `{"is":"log","level":"info","text":"","x":${nested(65)}}`],
    ["an id that is too long", `{"is":"returned","id":1234567890123456,"value":${nested(65)}}`],
    ["a string without an end", `{"is":"returned","id":7,"value":["${",".repeat(20_001)}`],
  ])("is none that has too much in %s", (_, json) => {
    expect(readReply(json)).toBeUndefined();
  });
});
