import { describe, expect, it } from "vitest";
import { auditHooks } from "../../../src/config/security-audit.ts";
import type { AuditFinding } from "../../../src/config/security-audit.ts";
import { context, exposed, GOOD_TOKEN, read } from "./hooks-context.ts";

const safe = { defaultSessionKey: "hook:ingress", allowedAgentIds: ["main"], allowedSessionKeyPrefixes: ["hook:"] };

function audit(block: object, around = context(), written?: unknown): AuditFinding[] {
  return auditHooks(read(block, around).config, around.gateway, written);
}

const brief = (findings: readonly AuditFinding[]): string[] => findings.map(({ id, severity }) => `${severity} ${id}`);

describe("auditHooks", () => {
  it("finds nothing in a careful configuration", () => {
    expect(audit(safe, exposed())).toEqual([]);
  });

  it("says nothing of hooks that are off", () => {
    expect(audit({ enabled: false, allowRequestSessionKey: true }, exposed())).toEqual([]);
  });

  it("warns of a short token", () => {
    expect(audit({ ...safe, token: ["short-but-nice", GOOD_TOKEN] })).toEqual([
      {
        id: "hooks.token_too_short",
        severity: "warn",
        path: "hooks.token",
        message: "has fewer than 24 characters; make a longer one with: openssl rand -hex 24",
      },
    ]);
    expect(audit({ ...safe, token: "k".repeat(24) })).toEqual([]);
  });

  it("warns of a missing default session key, beyond loopback too", () => {
    const { defaultSessionKey: _, ...block } = safe;
    const found = {
      id: "hooks.default_session_key_unset",
      severity: "warn",
      path: "hooks.defaultSessionKey",
      message: 'is not set: every run gets a session of its own; set it, for example to "hook:ingress"',
    };
    expect(audit(block)).toEqual([found]);
    expect(audit(block, exposed())).toEqual([found]);
  });

  it("warns of unrestricted agents, and calls it critical beyond loopback", () => {
    const found = {
      id: "hooks.allowed_agent_ids_unrestricted",
      severity: "warn",
      path: "hooks.allowedAgentIds",
      message:
        "lets callers choose any agent; list the agents that hooks may use, or write [] for the default one only",
    };
    expect(audit({ ...safe, allowedAgentIds: ["*"] })).toEqual([found]);
    expect(audit({ ...safe, allowedAgentIds: undefined }, exposed())).toEqual([{ ...found, severity: "critical" }]);
  });

  it("warns of session keys from callers, and of their having no bounds", () => {
    expect(audit({ ...safe, allowRequestSessionKey: true })).toEqual([
      {
        id: "hooks.request_session_key_enabled",
        severity: "warn",
        path: "hooks.allowRequestSessionKey",
        message: "is true: callers choose the session of a run; leave it out unless you need it",
      },
    ]);
    const block = { ...safe, allowRequestSessionKey: true, allowedSessionKeyPrefixes: [] };
    expect(audit(block).at(-1)).toEqual({
      id: "hooks.request_session_key_prefixes_missing",
      severity: "warn",
      path: "hooks.allowedSessionKeyPrefixes",
      message: 'is not set while callers may choose the session; set it, for example to ["hook:"]',
    });
    expect(brief(audit(block, exposed()))).toEqual([
      "critical hooks.request_session_key_enabled",
      "critical hooks.request_session_key_prefixes_missing",
    ]);
    expect(audit({ ...safe, allowedSessionKeyPrefixes: [] })).toEqual([]);
  });

  it("names every flag that turns the boundary off", () => {
    const mappings = [
      { messageTemplate: "m", match: { path: "a" } },
      { messageTemplate: "m", match: { path: "b" }, allowUnsafeExternalContent: true },
    ];
    const found = audit({ ...safe, mappings, gmail: { allowUnsafeExternalContent: true } });
    expect(found.map(({ path }) => path)).toEqual([
      "hooks.mappings[1].allowUnsafeExternalContent",
      "hooks.gmail.allowUnsafeExternalContent",
    ]);
    expect(brief(found)).toEqual(["warn hooks.unsafe_external_content", "warn hooks.unsafe_external_content"]);
  });

  it.each([{ token: GOOD_TOKEN }, { token: [{ env: "A" }, GOOD_TOKEN] }])(
    "tells of a token that stands in the file: %j",
    (written) => {
      expect(audit(safe, context(), written)).toEqual([
        {
          id: "config.secrets.hooks_token_in_config",
          severity: "info",
          path: "hooks.token",
          message: 'stands in the configuration file; write { "env": "NAME" } or { "file": "path" } instead',
        },
      ]);
    },
  );

  it.each([undefined, null, "x", {}, { token: { env: "A" } }, { token: "${HOOKS_TOKEN}" }, { token: [{ file: "x" }] }])(
    "says nothing of where the token stands when the file holds %j",
    (written) => {
      expect(audit(safe, context(), written)).toEqual([]);
    },
  );
});
