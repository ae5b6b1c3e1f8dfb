import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readPrefixes } from "../../../src/config/session.ts";
import { resolveSessionKey } from "../../../src/policy/session-key.ts";
import type { RequestedKey } from "../../../src/policy/session-key.ts";

const agentId = fc.constantFrom("main", "ops", "a-b.c");
const PARTS = ["agent:", "AGENT:", "main", "ops", ":", "hook:", "HOOK:", "hook:gmail:", "gmail", "x", " ", "\n", "\0"];
const key = fc
  .oneof(
    fc.array(fc.oneof(fc.constantFrom(...PARTS), fc.string({ unit: "binary", maxLength: 3 })), { minLength: 1 }),
    fc.array(fc.constantFrom(...PARTS), { minLength: 1, maxLength: 5 }),
  )
  .map((parts) => parts.join(""));
const prefixes = fc
  .array(fc.constantFrom("hook:", "Team:", "agent:", "agent:main:", "agent:main:hook:", "k", " "), { maxLength: 3 })
  .map(readPrefixes);
const rules = fc.record({
  defaultSessionKey: fc.option(fc.constantFrom("hook:default", "agent:ops:x"), { nil: undefined }),
  allowRequestSessionKey: fc.boolean(),
  allowedSessionKeyPrefixes: prefixes,
});
const requested: fc.Arbitrary<RequestedKey> = fc.record({
  key: fc.option(key, { nil: undefined }),
  source: fc.constantFrom("request", "static"),
});

const RUNS = { numRuns: 3_000 };

describe("session keys, for any rules and requests", () => {
  it("that are accepted name a session of the agent that runs", () => {
    fc.assert(
      fc.property(rules, requested, agentId, (rules, requested, agentId) => {
        const session = resolveSessionKey(rules, requested, agentId);
        if (typeof session === "string") {
          expect(session.startsWith(`agent:${agentId}:`)).toBe(true);
          expect(session.slice(`agent:${agentId}:`.length).trim()).not.toBe("");
          expect(session).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
        }
      }),
      RUNS,
    );
  });

  it("that a caller chose are accepted only while that is allowed", () => {
    fc.assert(
      fc.property(rules, key, agentId, (rules, key, agentId) => {
        const session = resolveSessionKey(rules, { key, source: "request" }, agentId);
        if (!rules.allowRequestSessionKey) expect(session).toMatchObject({ refused: "SESSION_KEY_DISABLED" });
      }),
      RUNS,
    );
  });

  it("that are accepted begin as requested with an allowed prefix, and as resolved too when they named an agent", () => {
    fc.assert(
      fc.property(rules, key, fc.constantFrom("request", "static"), agentId, (rules, key, source, agentId) => {
        const prefixes = rules.allowedSessionKeyPrefixes;
        const session = resolveSessionKey(rules, { key, source }, agentId);
        if (typeof session !== "string" || prefixes.length === 0) return;
        const hasPrefix = (text: string) => prefixes.some((prefix) => text.toLowerCase().startsWith(prefix));
        expect(hasPrefix(key)).toBe(true);
        if (/^agent:[^:]*:/i.test(key)) expect(hasPrefix(session)).toBe(true);
      }),
      RUNS,
    );
  });

  it("that are accepted hold what was asked for: the key itself, or what stands behind its agent", () => {
    fc.assert(
      fc.property(rules, key, agentId, (rules, key, agentId) => {
        const session = resolveSessionKey(rules, { key, source: "static" }, agentId);
        if (typeof session !== "string") return;
        expect(session).toBe(`agent:${agentId}:${key.replace(/^agent:[^:]*:/i, "")}`);
      }),
      RUNS,
    );
  });

  it("that a preset derives never leave its name space, and are never refused", () => {
    fc.assert(
      fc.property(rules, requested, agentId, (rules, requested, agentId) => {
        const session = resolveSessionKey(rules, { ...requested, ownPrefix: "hook:gmail:" }, agentId);
        expect(session).toMatch(/^agent:[^:]+:hook:gmail:[A-Za-z0-9._-]{1,128}$/);
        expect(session).toMatch(new RegExp(`^agent:${agentId.replace(".", "\\.")}:`));
      }),
      RUNS,
    );
  });
});
