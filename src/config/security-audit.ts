import type { GatewayFacts } from "../host.ts";
import type { ConfigIssue } from "./config-error.ts";
import type { HooksConfig } from "./hooks-config.ts";
import { MIN_TOKEN_CHARACTERS } from "./token-rules.ts";

/** One setting that works and makes the ingress less safe than it could be. */
export interface AuditFinding extends ConfigIssue {
  readonly id: AuditId;
  readonly severity: "info" | "warn" | "critical";
}

export type AuditId =
  | "hooks.token_too_short"
  | "hooks.default_session_key_unset"
  | "hooks.allowed_agent_ids_unrestricted"
  | "hooks.request_session_key_enabled"
  | "hooks.request_session_key_prefixes_missing"
  | "hooks.unsafe_external_content"
  | "config.secrets.hooks_token_in_config";

/**
 * Looks a valid configuration over (reference/openclaw.md 9); nothing is said of one that is off.
 *
 * What strangers could use is critical where the gateway listens beyond loopback. A token shared with
 * the gateway and the path `/` are refused at load, so neither is a finding. `written` is the block as
 * it stands in the file, before `${VAR}` is replaced; without it nobody can tell whether a token is
 * in the file, and nothing is said.
 */
export function auditHooks(config: HooksConfig, gateway: GatewayFacts, written?: unknown): AuditFinding[] {
  if (!config.enabled) return [];
  const findings: AuditFinding[] = [];
  const exposed = gateway.loopbackOnly ? "warn" : "critical";
  const add = (id: AuditId, severity: AuditFinding["severity"], path: string, message: string): void => {
    findings.push({ id, severity, path, message });
  };
  if (config.tokens.some((token) => token.length < MIN_TOKEN_CHARACTERS)) {
    add("hooks.token_too_short", "warn", "hooks.token", TOO_SHORT);
  }
  if (config.defaultSessionKey === undefined) {
    add(
      "hooks.default_session_key_unset",
      "warn",
      "hooks.defaultSessionKey",
      'is not set: every run gets a session of its own; set it, for example to "hook:ingress"',
    );
  }
  if (config.allowedAgentIds === undefined) {
    add(
      "hooks.allowed_agent_ids_unrestricted",
      exposed,
      "hooks.allowedAgentIds",
      "lets callers choose any agent; list the agents that hooks may use, or write [] for the default one only",
    );
  }
  if (config.allowRequestSessionKey) {
    add(
      "hooks.request_session_key_enabled",
      exposed,
      "hooks.allowRequestSessionKey",
      "is true: callers choose the session of a run; leave it out unless you need it",
    );
    if (config.allowedSessionKeyPrefixes.length === 0) {
      add(
        "hooks.request_session_key_prefixes_missing",
        exposed,
        "hooks.allowedSessionKeyPrefixes",
        'is not set while callers may choose the session; set it, for example to ["hook:"]',
      );
    }
  }
  for (const path of unsafePaths(config)) add("hooks.unsafe_external_content", "warn", path, UNSAFE_CONTENT);
  if (hasLiteralToken(written)) {
    add("config.secrets.hooks_token_in_config", "info", "hooks.token", TOKEN_IN_CONFIG);
  }
  return findings;
}

const TOO_SHORT = `has fewer than ${MIN_TOKEN_CHARACTERS} characters; make a longer one with: openssl rand -hex 24`;
const UNSAFE_CONTENT =
  "is true: content from outside reaches the agent without the boundary; set it only for sources whose every word you trust";
const TOKEN_IN_CONFIG = 'stands in the configuration file; write { "env": "NAME" } or { "file": "path" } instead';

function unsafePaths(config: HooksConfig): string[] {
  const own = config.mappings.filter((mapping) => mapping.allowUnsafeExternalContent);
  const paths = own.map(({ where }) => `${where}.allowUnsafeExternalContent`);
  if (config.gmail.allowUnsafeExternalContent === true) paths.push("hooks.gmail.allowUnsafeExternalContent");
  return paths;
}

function hasLiteralToken(written: unknown): boolean {
  if (typeof written !== "object" || written === null || !Object.hasOwn(written, "token")) return false;
  const { token } = written as { token: unknown };
  const entries: readonly unknown[] = Array.isArray(token) ? token : [token];
  return entries.some((entry) => typeof entry === "string" && !entry.includes("${"));
}
