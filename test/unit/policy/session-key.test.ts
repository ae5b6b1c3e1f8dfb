import { describe, expect, it } from "vitest";
import { resolveSessionKey } from "../../../src/policy/session-key.ts";
import type { RequestedKey, SessionKeyRules } from "../../../src/policy/session-key.ts";

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";
const CLOSED: SessionKeyRules = {
  defaultSessionKey: undefined,
  allowRequestSessionKey: false,
  allowedSessionKeyPrefixes: [],
};
const OPEN: SessionKeyRules = { ...CLOSED, allowRequestSessionKey: true };
const PREFIXED: SessionKeyRules = { ...OPEN, allowedSessionKeyPrefixes: ["hook:", "team:"] };

const asked = (key: string | undefined): RequestedKey => ({ key, source: "request" });
const configured = (key: string | undefined): RequestedKey => ({ key, source: "static" });

const resolve = (rules: SessionKeyRules, requested: RequestedKey, agentId = "main"): string => {
  const key = resolveSessionKey(rules, requested, agentId);
  return typeof key === "string" ? key : key.refused;
};

describe("the session of a run that asks for none", () => {
  it("spec 4.2: is hooks.defaultSessionKey when that is set", () => {
    expect(resolve({ ...CLOSED, defaultSessionKey: "hook:ingress" }, asked(undefined))).toBe("agent:main:hook:ingress");
  });

  it("spec 4.2: is one of its own otherwise, new for each run", () => {
    const keys = [1, 2].map(() => resolve(CLOSED, configured(undefined), "ops"));
    for (const key of keys) expect(key).toMatch(new RegExp(`^agent:ops:hook:${UUID}$`));
    expect(keys[0]).not.toBe(keys[1]);
  });

  it("is the default key under the agent that runs, also when that was written for another", () => {
    const rules = { ...CLOSED, defaultSessionKey: "agent:main:hook:ingress" };
    expect(resolve(rules, asked(undefined), "ops")).toBe("agent:ops:hook:ingress");
  });

  it("spec 2.1: needs no permission for the default key", () => {
    const rules = { ...PREFIXED, allowRequestSessionKey: false, defaultSessionKey: "hook:x" };
    expect(resolve(rules, asked(undefined))).toBe("agent:main:hook:x");
  });
});

describe("a session key that a caller or a payload chose", () => {
  it("spec 4.2: is rejected unless hooks.allowRequestSessionKey is true", () => {
    expect(resolve(CLOSED, asked("hook:mine"))).toBe("SESSION_KEY_DISABLED");
    expect(resolve(OPEN, asked("hook:mine"))).toBe("agent:main:hook:mine");
  });

  it("spec 9: is rejected while the override is off, whatever prefixes and default key there are", () => {
    const rules = { ...PREFIXED, allowRequestSessionKey: false, defaultSessionKey: "hook:ingress" };
    expect(resolve(rules, asked("hook:mine"))).toBe("SESSION_KEY_DISABLED");
    expect(resolve(rules, asked("hook:ingress"))).toBe("SESSION_KEY_DISABLED");
  });

  it("spec 4.2: goes before the default key once it is allowed", () => {
    expect(resolve({ ...OPEN, defaultSessionKey: "hook:ingress" }, asked("hook:mine"))).toBe("agent:main:hook:mine");
  });
});

describe("hooks.allowedSessionKeyPrefixes", () => {
  it.each<[string, string]>([
    ["hook:ci", "agent:main:hook:ci"],
    ["team:a:b", "agent:main:team:a:b"],
    ["HOOK:ci", "agent:main:HOOK:ci"],
    ["hook:", "agent:main:hook:"],
  ])("spec 4.2: lets the request key %j pass", (key, session) => {
    expect(resolve(PREFIXED, asked(key))).toBe(session);
  });

  it.each(["main", "hook", "xhook:ci", " hook:ci", "hoo:k", "agent:main:hook:ci", "agent:main:main"])(
    "spec 4.2: keeps the request key %j out",
    (key) => {
      expect(resolve(PREFIXED, asked(key))).toBe("SESSION_KEY_PREFIX");
    },
  );

  it("spec 2.1: restricts the fixed keys of mappings too", () => {
    expect(resolve(PREFIXED, configured("hook:ci"))).toBe("agent:main:hook:ci");
    expect(resolve(PREFIXED, configured("ci"))).toBe("SESSION_KEY_PREFIX");
    expect(resolve({ ...PREFIXED, allowRequestSessionKey: false }, configured("hook:ci"))).toBe("agent:main:hook:ci");
  });

  it("names the prefixes that there are", () => {
    expect(resolveSessionKey(PREFIXED, asked("x"), "main")).toMatchObject({
      message: "sessionKey must start with one of: hook:, team:",
    });
  });

  it("is asked again once a key was put under the agent that runs", () => {
    const rules = { ...OPEN, allowedSessionKeyPrefixes: ["agent:ops:"] };
    expect(resolve(rules, asked("agent:ops:x"), "ops")).toBe("agent:ops:x");
    expect(resolve(rules, asked("agent:ops:x"), "main")).toBe("SESSION_KEY_PREFIX");
    expect(resolve({ ...OPEN, allowedSessionKeyPrefixes: ["agent:"] }, asked("agent:ops:x"))).toBe("agent:main:x");
  });

  it("spec 2.1: absent, restricts nothing", () => {
    expect(resolve(OPEN, asked("whatever"))).toBe("agent:main:whatever");
  });
});

describe("a key that names an agent", () => {
  it.each<[string, string]>([
    ["agent:main:hook:x", "agent:main:hook:x"],
    ["agent:ops:hook:x", "agent:main:hook:x"],
    ["AGENT:ops:hook:x", "agent:main:hook:x"],
    ["agent::hook:x", "agent:main:hook:x"],
    ["agent:ops", "agent:main:agent:ops"],
    ["agents:ops:x", "agent:main:agents:ops:x"],
    ["agent:a:agent:b:x", "agent:main:agent:b:x"],
  ])("stays or is put under the agent that runs: %j", (key, session) => {
    expect(resolve(OPEN, asked(key))).toBe(session);
    expect(resolve(CLOSED, configured(key))).toBe(session);
  });

  it.each(["agent:main:", "agent:ops: ", "agent::"])("and no session is refused: %j", (key) => {
    expect(resolveSessionKey(OPEN, asked(key), "main")).toMatchObject({
      refused: "INVALID_PAYLOAD",
      message: "sessionKey must name a session, and not an agent alone.",
    });
  });
});

describe("the form of a key", () => {
  it.each([
    ["a line break", "hook:a\nb"],
    ["a tab", "hook:a\tb"],
    ["a NUL", "hook:\0"],
    ["a zero-width space", "hook:a\u200bb"],
    ["a right-to-left override", "hook:a\u202eb"],
    ["a line separator", "hook:a\u2028b"],
    ["half a surrogate pair, which a store would replace", "hook:\ud800"],
  ])("is refused with %s", (_case, key) => {
    expect(resolveSessionKey(OPEN, asked(key), "main")).toEqual({
      refused: "INVALID_PAYLOAD",
      message: "sessionKey must not hold control characters.",
      retryAfterSeconds: undefined,
    });
    expect(resolve(CLOSED, configured(key))).toBe("INVALID_PAYLOAD");
  });

  it("may have 512 characters and not one more", () => {
    const key = "k".repeat(512);
    expect(resolve(OPEN, asked(key))).toBe(`agent:main:${key}`);
    expect(resolve(OPEN, asked(`${key}k`))).toBe("INVALID_PAYLOAD");
  });

  it("may hold letters of any script, spaces and emoji", () => {
    expect(resolve(OPEN, asked("hook:Grüße 日本 🎉"))).toBe("agent:main:hook:Grüße 日本 🎉");
  });
});

describe("a key that a preset derives", () => {
  const derived = (key: string | undefined, rules = CLOSED): string =>
    resolve(rules, { key, source: "request", ownPrefix: "hook:gmail:" });

  it("needs no permission and no prefix of the operator", () => {
    expect(derived("hook:gmail:18c5f")).toBe("agent:main:hook:gmail:18c5f");
    expect(derived("hook:gmail:18c5f", { ...PREFIXED, allowedSessionKeyPrefixes: ["team:"] })).toBe(
      "agent:main:hook:gmail:18c5f",
    );
  });

  it.each([
    ["agent:ops:main", `hook:gmail:${UUID}`],
    ["main", `hook:gmail:${UUID}`],
    ["HOOK:GMAIL:x", `hook:gmail:${UUID}`],
    ["hook:gmail:", `hook:gmail:${UUID}`],
    ["hook:gmail:a:b/c d\n", "hook:gmail:a_b_c_d_"],
    ["hook:gmail:agent:ops:x", "hook:gmail:agent_ops_x"],
    ["hook:gmail:..", "hook:gmail:.."],
  ])("stays one plain word in the preset's own name space: %j", (key, session) => {
    expect(derived(key)).toMatch(new RegExp(`^agent:main:${session}$`));
  });

  it("is a new one when the payload gave nothing", () => {
    expect(derived(undefined)).toMatch(new RegExp(`^agent:main:hook:gmail:${UUID}$`));
    expect(derived(undefined)).not.toBe(derived(undefined));
  });

  it("is cut to 128 characters behind the prefix", () => {
    expect(derived(`hook:gmail:${"x".repeat(1_000_000)}`)).toBe(`agent:main:hook:gmail:${"x".repeat(128)}`);
  });
});
