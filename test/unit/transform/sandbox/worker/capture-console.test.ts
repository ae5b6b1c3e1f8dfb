import { describe, expect, it } from "vitest";
import { captureConsole } from "../../../../../src/transform/sandbox/worker/capture-console.ts";

type Method = (...args: readonly unknown[]) => void;
type Stream = { readonly write: (chunk: unknown) => boolean; readonly read: () => unknown };

function captured() {
  const lines: unknown[] = [];
  const console: Record<string, Method> = {};
  const process: Record<string, Stream> = {};
  const { renew, report } = captureConsole({ console, process, write: (json) => lines.push(JSON.parse(json)) });
  return { lines, console, process, renew, report };
}

describe("captureConsole", () => {
  it("makes frames of each method and stream, with a level", () => {
    const { lines, console, process } = captured();
    for (const name of ["debug", "trace", "log", "info", "warn", "error"]) console[name]?.("%s!", name, { a: 1 });
    process["stdout"]?.write("out\n");
    process["stderr"]?.write(Buffer.from("err"));
    expect(process["stdin"]?.read()).toBeNull();
    expect(lines).toEqual([
      { is: "log", level: "debug", text: "debug! { a: 1 }" },
      { is: "log", level: "debug", text: "trace! { a: 1 }" },
      { is: "log", level: "info", text: "log! { a: 1 }" },
      { is: "log", level: "info", text: "info! { a: 1 }" },
      { is: "log", level: "warn", text: "warn! { a: 1 }" },
      { is: "log", level: "error", text: "error! { a: 1 }" },
      { is: "log", level: "info", text: "out" },
      { is: "log", level: "warn", text: "err" },
    ]);
  });

  it("cuts a text to 1,000 characters and a call to 20 texts, and formats nothing past that", () => {
    const { lines, console, process, renew, report } = captured();
    let formatted = 0;
    const costly = { [Symbol.for("nodejs.util.inspect.custom")]: () => `${"x".repeat(2_000)}${formatted++}` };
    for (let turn = 0; turn < 30; turn++) console["log"]?.(costly);
    report("error", "one more");
    process["stdout"]?.write("one more");
    expect(lines).toHaveLength(20);
    expect(lines[19]).toEqual({ is: "log", level: "info", text: "x".repeat(1_000) });
    expect(formatted).toBe(20);
    renew();
    report("error", "anew");
    expect(lines[20]).toEqual({ is: "log", level: "error", text: "anew" });
  });
});
