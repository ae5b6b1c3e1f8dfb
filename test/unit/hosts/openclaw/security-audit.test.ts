import { expect, it } from "vitest";
import { auditSecurity } from "../../../../src/hosts/openclaw/security-audit.ts";
import { withHostDefaults } from "../../../../src/hosts/openclaw/plugin-block.ts";
import type { OpenClawAuditFinding } from "../../../../src/hosts/openclaw/sdk.ts";

const token = "a-hook-token-of-these-tests-24";

function audit(block: unknown, source: unknown = block): readonly OpenClawAuditFinding[] {
  const configOf = (config: unknown): Record<string, unknown> => ({ plugins: { entries: { reveille: { config } } } });
  const context = { config: configOf(block), sourceConfig: configOf(source), env: {}, configPath: "/x/openclaw.json" };
  return auditSecurity(context, { pluginId: "reveille", block: withHostDefaults });
}

it("has no findings without a block, or for hooks that are off", () => {
  expect(audit(undefined)).toEqual([]);
  expect(audit({ enabled: false })).toEqual([]);
});

it("names what the host's own audit named of its hooks, by the keys of the block", () => {
  const mapping = { match: { path: "a" }, messageTemplate: "x", allowUnsafeExternalContent: true };
  const findings = audit({ enabled: true, token, allowRequestSessionKey: true, mappings: [mapping] });
  const ids = findings.map(({ checkId }) => checkId);
  expect(ids).toEqual(
    expect.arrayContaining([
      "reveille.hooks.default_session_key_unset",
      "reveille.hooks.request_session_key_enabled",
      "reveille.hooks.unsafe_external_content",
      "reveille.config.secrets.hooks_token_in_config",
    ]),
  );
  const unsafe = findings.find(({ checkId }) => checkId === "reveille.hooks.unsafe_external_content");
  expect(unsafe?.detail).toContain("plugins.entries.reveille.config.mappings[0]");
  expect(JSON.stringify(findings)).not.toContain(token);
});

it("sees no secret in the file where a reference stands", () => {
  const ids = audit({ enabled: true, token }, { enabled: true, token: "${HOOK_TOKEN}" }).map(({ checkId }) => checkId);
  expect(ids).not.toContain("reveille.config.secrets.hooks_token_in_config");
});

it("says of a block that is refused why it is", () => {
  expect(audit({ enabled: true })).toEqual([
    expect.objectContaining({ checkId: "reveille.config_refused", severity: "warn" }),
  ]);
});
