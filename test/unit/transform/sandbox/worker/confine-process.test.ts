import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { confineProcess } from "../../../../../src/transform/sandbox/worker/confine-process.ts";

/** Something like a process, since this one has to go on. */
function something() {
  const done: string[] = [];
  const act = (name: string) => (): number => done.push(name);
  class Socket {
    connect = act("shadowed");
  }
  Object.assign(Socket.prototype, { connect: act("connect"), destroy: act("destroy") });
  const read = Object.assign(act("read"), { [promisify.custom]: act("promised") });
  const modules: Readonly<Record<string, object>> = {
    "node:net": { Socket, Server: {} },
    "node:dns": { lookup: act("lookup"), resolve4: act("resolve4"), getServers: act("getServers"), promises: null },
    "node:fs": { read, readFileSync: act("readFileSync"), statSync: act("statSync"), constants: {} },
  };
  const process = { exit: act("exit"), cwd: act("cwd"), env: { SECRET: "s" }, report: { getReport: act("report") } };
  const global = { fetch: act("fetch"), WebSocket: Socket };
  const env = process.env;
  confineProcess({ process: process as never, global, builtin: (name) => modules[name] });
  return { done, process, global, env, fs: modules["node:fs"], dns: modules["node:dns"], Socket };
}

const call = (owner: object | undefined, name: string, ...args: readonly unknown[]): unknown =>
  Reflect.apply(Reflect.get(owner ?? {}, name) as () => unknown, owner, args);

describe("confineProcess", () => {
  it("makes what it names throw, and leaves the rest", async () => {
    const { done, process, global, dns, Socket } = something();
    expect(() => call(process, "exit", 0)).toThrow("process.exit is not there for transforms");
    expect(() => call(process.report, "getReport")).toThrow("process.report.getReport is not there for transforms");
    const noNetwork = "a transform has no network (hooks.transforms.isolation)";
    expect(() => call(Socket.prototype, "connect", 80)).toThrow(noNetwork);
    expect(() => Reflect.construct(global.WebSocket, ["ws://localhost"]) as unknown).toThrow(noNetwork);
    expect(() => call(dns, "lookup", "localhost")).toThrow(noNetwork);
    expect(() => call(dns, "resolve4", "localhost")).toThrow(noNetwork);
    await expect(call(global, "fetch", "http://localhost")).rejects.toThrow(noNetwork);
    expect(done).toEqual([]);
    call(process, "cwd");
    call(Socket.prototype, "destroy");
    call(dns, "getServers");
    expect(done).toEqual(["cwd", "destroy", "getServers"]);
  });

  it("lets packages put a function of their own in the place of one that is gone", () => {
    const { process } = something();
    process.exit = () => 7;
    expect(process.exit()).toBe(7);
  });

  it("empties the environment itself, and gives modules another", () => {
    const { process, env } = something();
    expect(env).toEqual({});
    expect(process.env).toEqual({});
    expect(process.env).not.toBe(env);
  });

  it("keeps functions that take a number off the first four files, and changes them in nothing else", () => {
    const { done, fs } = something();
    expect(() => call(fs, "read", 3)).toThrow("file descriptor 3 is not there for transforms");
    expect(() => call(fs, "readFileSync", 0)).toThrow("file descriptor 0 is not there for transforms");
    call(fs, "read", 4);
    call(fs, "readFileSync", "/a/path");
    call(fs, "statSync", 3);
    call(Reflect.get(fs ?? {}, "read") as object, promisify.custom as never);
    expect(done).toEqual(["read", "readFileSync", "statSync", "promised"]);
  });
});
