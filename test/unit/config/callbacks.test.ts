import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { context, GATEWAY_SECRET, GOOD_TOKEN, read, refusalsOf } from "./hooks-context.ts";

const KEY = "q3J1c9pT0ZbW5yXn7kLm2vFhRtUe8sGa4dQoPi6wBxM=";
const hosts = ["ci.example.com"];
const refuse = (callbacks: object): string[] => refusalsOf({ callbacks: { hosts, secret: KEY, ...callbacks } });

describe("hooks.callbacks", () => {
  it("are nowhere unless they are written, and while hooks are off", () => {
    expect(read({}).config.callbacks).toBeUndefined();
    expect(read({ enabled: false, callbacks: { hosts, secret: { env: "MISSING" } } }).config.callbacks).toBeUndefined();
  });

  it("have hosts in lower case, each once, and a secret as it is written", () => {
    const written = { hosts: ["CI.example.com", "ci.example.com", "*.Hooks.example.com"], secret: `whsec_${KEY}` };
    expect(read({ callbacks: written }).config.callbacks).toEqual({
      hosts: ["ci.example.com", "*.hooks.example.com"],
      secret: `whsec_${KEY}`,
    });
  });

  it("take the secret from the environment", () => {
    const around = context({ env: { CALLBACK_SECRET: ` ${KEY}\n` } });
    const { callbacks } = read({ callbacks: { hosts, secret: { env: "CALLBACK_SECRET" } } }, around).config;
    expect(callbacks?.secret).toBe(KEY);
    expect(refuse({ secret: { env: "CALLBACK_SECRET" } })).toEqual([
      "hooks.callbacks.secret: the environment variable CALLBACK_SECRET is not set",
    ]);
  });

  it.each([
    "",
    "localhost",
    "10.0.0.1",
    "[::1]",
    "https://ci.example.com",
    "ci.example.com:8443",
    "ci.example.com/x",
    "*",
    "a.*.example.com",
    "-a.example.com",
    "a b.example.com",
    "*.*.example.com",
    "*.com",
  ])("refuse the host %j", (host) => {
    expect(refuse({ hosts: [host] })).toEqual([
      `hooks.callbacks.hosts[0]: ${JSON.stringify(host)} is not a host name such as "ci.example.com" or "*.example.com"`,
    ]);
  });

  const MAKE_ONE = 'make one with: echo "whsec_$(openssl rand -base64 32)"';

  it.each([
    [randomBytes(23).toString("base64"), `has fewer than 24 bytes; ${MAKE_ONE}`],
    [`whsec_${randomBytes(23).toString("base64")}`, `has fewer than 24 bytes; ${MAKE_ONE}`],
    [randomBytes(65).toString("base64"), `has more than 64 bytes; ${MAKE_ONE}`],
    ["not base64, though it is long enough for it", `is not base64, with or without whsec_ before it; ${MAKE_ONE}`],
    [`${"abcd".repeat(8)}a`, `is not base64, with or without whsec_ before it; ${MAKE_ONE}`],
    [Buffer.alloc(32, 7).toString("base64"), `is not random; ${MAKE_ONE}`],
    [Buffer.from("ab".repeat(16)).toString("base64"), `is not random; ${MAKE_ONE}`],
    [GATEWAY_SECRET, "is also a secret of the gateway itself; give the sender one of its own"],
    [GOOD_TOKEN, "is also the hook token; give the sender a secret of its own"],
    ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "is the secret of a published example; use another"],
    ["", "is empty"],
  ])("refuse the secret %#", (secret, problem) => {
    expect(refuse({ secret })).toEqual([`hooks.callbacks.secret: ${problem}`]);
  });

  it("refuse a secret that a sender has, with or without whsec_ before it", () => {
    const block = { callbacks: { hosts, secret: `whsec_${KEY}` }, presets: ["github"] };
    const line = "hooks.callbacks.secret: is also the secret of hooks.github; give the callbacks one of their own";
    expect(refusalsOf({ ...block, github: { secret: KEY } })).toEqual([line]);
    expect(refusalsOf({ ...block, github: { secret: `whsec_${KEY}` } })).toEqual([line]);
    expect(refusalsOf({ ...block, github: { secret: `${KEY}-other` } })).toEqual([]);
  });

  it("show nothing of a secret that is refused", () => {
    const secret = "SHORTKEY";
    expect(refuse({ secret }).join(" ")).not.toContain(secret);
  });
});
