import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TransformProcess } from "./transform-process.ts";

const says = (text: string): string => `export default ({ payload }) => ({ message: "${text} " + payload.n });`;

describe("reveille transform test as a process", { timeout: 120_000 }, () => {
  it("reads a payload from standard input, and leaves neither a process nor a file behind", async () => {
    using program = new TransformProcess();
    program.module("deploy.js", says("piped"));
    program.start("transform", "test", "deploy.js", "--payload", "-").stdin.end('{"n":7}');
    expect(await program.ended()).toBe(0);
    expect(program.err).toBe("");
    expect(program.out).toContain("input       standard input, 7 bytes\n");
    expect(program.out).toContain("  | piped 7\n");
    expect(await program.sandboxesLeft()).toEqual([]);
    expect(readdirSync(program.temporary)).toEqual([]);
  });

  it("reads what is piped into it when no input is named, and does not wait for a pipe that stays empty", async () => {
    using program = new TransformProcess();
    program.module("deploy.js", says("piped"));
    program.start("transform", "test", "deploy.js").stdin.end('{"n":7}');
    expect(await program.ended()).toBe(0);
    expect(program.out).toContain("input       standard input, 7 bytes\n");
    program.start("transform", "test", "deploy.js");
    expect(await program.ended()).toBe(0);
    expect(program.out).toContain("input       {}, since none was named, 2 bytes\n");
  });

  it("ends with code 1 and prints where a module is broken", async () => {
    using program = new TransformProcess();
    program.module("deploy.js", "export default () => {\n  throw new RangeError('too far');\n};");
    program.start("transform", "test", "deploy.js");
    expect(await program.ended()).toBe(1);
    expect(program.out).toMatch(
      /^The transform threw RangeError: too far \(hooks\/transforms\/deploy\.js:2:\d+\)\.$/mu,
    );
  });

  it("watches the folder and the payload, continues after a broken edit, and ends cleanly with Ctrl-C", async () => {
    using program = new TransformProcess();
    program.module("deploy.js", says("first"));
    const payload = join(program.folder, "payload.json");
    writeFileSync(payload, '{"n":1}');
    const child = program.start("transform", "test", "deploy.js", "--payload", "payload.json", "--watch");
    await program.printed(/\| first 1\n[^]*Waiting for changes; Ctrl-C ends it\.\n/u);
    program.module("deploy.js", "export default (");
    await program.printed(/The module cannot be loaded:\n {2}hooks\/transforms\/deploy\.js:1:\d+: [^]*Waiting/u);
    program.module("deploy.js", says("second"));
    await program.printed(/\| second 1\n[^]*Waiting/u);
    writeFileSync(payload, '{"n":20}');
    await program.printed(/\| second 20\n[^]*Waiting/u);
    writeFileSync(join(program.folder, ".reveille", "reveille.json5"), "{");
    program.module("other.js", "");
    await program.printed(/The configuration is not valid\.\n/u);
    child.kill("SIGINT");
    expect(await program.ended()).toBe(0);
    expect(program.err).toBe("");
    expect(program.out.match(/^----- \d\d:\d\d:\d\d$/gmu)?.length).toBeGreaterThanOrEqual(5);
    expect(await program.sandboxesLeft()).toEqual([]);
    expect(readdirSync(program.temporary)).toEqual([]);
  });

  it("is interrupted together with its endless loop, with the exit code of the signal", async () => {
    using program = new TransformProcess({ transforms: { timeoutMs: 60_000 } });
    program.module("deploy.js", "export default () => { for (;;); };");
    const child = program.start("transform", "test", "deploy.js");
    await program.computing();
    child.kill("SIGTERM");
    expect(await program.ended()).toBe(143);
    expect(await program.sandboxesLeft()).toEqual([]);
    expect(readdirSync(program.temporary)).toEqual([]);
  });
});

describe("reveille check as a process", () => {
  it("ends the sandboxes that it has loaded transforms into", async () => {
    using program = new TransformProcess({
      mappings: [{ match: { path: "d" }, transform: { module: "deploy.js" } }],
    });
    program.module("deploy.js", says("checked"));
    program.start("check");
    expect(await program.ended()).toBe(0);
    expect(program.out).toContain("is valid.\n");
    expect(await program.sandboxesLeft()).toEqual([]);
    expect(readdirSync(program.temporary)).toEqual([]);
  });
});
