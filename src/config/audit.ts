import type { GatewayFacts } from "../core/host.ts";
import type { ExposureRow } from "./rule-of-two.ts";
import type { ConfigIssue } from "./errors.ts";
import { compilePath, lookup } from "../core/payload-path.ts";
import { showValue } from "./show-value.ts";
import { signsBody } from "./auth/content.ts";
import type { HooksConfig } from "./hooks.ts";
import type { MappingConfig } from "./mapping/schema.ts";
import { MIN_TOKEN_CHARACTERS } from "./token.ts";

/** One setting that works and makes the ingress less safe than it could be. */
export interface AuditFinding extends ConfigIssue {
  readonly id: AuditId;
  readonly severity: "info" | "warning" | "critical";
}

export type AuditId =
  | "hooks.token_too_short"
  | "hooks.default_session_key_unset"
  | "hooks.allowed_agent_ids_unrestricted"
  | "hooks.request_session_key_enabled"
  | "hooks.request_session_key_prefixes_missing"
  | "hooks.unsafe_external_content"
  | "hooks.auth_weaker_than_signature"
  | "hooks.replay_unguarded"
  | "hooks.bots_not_ignored"
  | "hooks.unrestricted_agent"
  | "hooks.all_three_accepted"
  | "hooks.exposure_unknown"
  | "config.secrets.hooks_token_in_config";

/**
 * Audits a valid configuration. One that is not enabled has no findings.
 *
 * A finding that strangers could use is critical unless the gateway listens on loopback only. A token shared with
 * the gateway and the path `/` are refused at load, so neither is a finding. `written` is the block as
 * it is in the file, before `${VAR}` is replaced; without it the audit cannot see a token that is
 * written in the file, nor what the owner wrote over a preset's own `auth`.
 */
export function auditHooks(config: HooksConfig, gateway: GatewayFacts, written?: unknown): AuditFinding[] {
  if (!config.enabled) return [];
  const findings: AuditFinding[] = [];
  const exposed = gateway.loopbackOnly ? "warning" : "critical";
  const add: Add = (id, severity, path, message) => {
    findings.push({ id, severity, path, message });
  };
  if (config.tokens.some((token) => token.length < MIN_TOKEN_CHARACTERS)) {
    add("hooks.token_too_short", "warning", "hooks.token", TOO_SHORT);
  }
  if (config.defaultSessionKey === undefined) {
    add(
      "hooks.default_session_key_unset",
      "warning",
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
  for (const { path, preset } of unsafePaths(config)) {
    add("hooks.unsafe_external_content", "warning", path, preset === undefined ? UNSAFE_CONTENT : UNSAFE_SENDER);
  }
  for (const path of gateway.unrestrictedAgents ?? []) {
    add("hooks.unrestricted_agent", exposed, path, UNRESTRICTED);
  }
  auditExposures(config.exposures, add);
  for (const mapping of config.mappings) auditSender(mapping, { gateway, written }, add);
  if (hasLiteralToken(written)) {
    add("config.secrets.hooks_token_in_config", "info", "hooks.token", TOKEN_IN_CONFIG);
  }
  return findings;
}

const TOO_SHORT = `has fewer than ${MIN_TOKEN_CHARACTERS} characters; make a longer one with: openssl rand -hex 24`;
const UNSAFE_CONTENT =
  "is true: content from outside reaches the agent without the boundary; set it only for sources whose every word you trust";
const UNRESTRICTED =
  'is "all" with allowUntrusted: a payload that persuades the agent does everything; list what it needs instead';
const UNKNOWN_EXPOSURE =
  'is used by a gateway that does not say what its agents can reach: count on each run to read what others wrote, reach private data and act outward; limit the agent itself, or write tools: "none"';
const TOKEN_IN_CONFIG = 'is written in the configuration file; write { "env": "NAME" } or { "file": "path" } instead';

/** Names what the owner has accepted, once for each mapping, and that a host cannot say what its agents reach. */
function auditExposures(rows: readonly ExposureRow[], add: Add): void {
  const accepted = new Map(rows.filter(({ verdict }) => verdict === "accepted").map((row) => [row.where, row]));
  for (const { where, accepted: reason, private: reached, outward } of accepted.values()) {
    add(
      "hooks.all_three_accepted",
      "warning",
      `${where}.acceptAllThree`,
      `accepts that a payload which persuades the agent reaches ${reached.join("; ")} and acts outward (${outward.join("; ")}): ${showValue(reason)}`,
    );
  }
  const unknown = rows.filter(({ verdict, accepted: reason }) => verdict === "unknown" && reason === null);
  if (unknown.length > 0) add("hooks.exposure_unknown", "info", "hooks", UNKNOWN_EXPOSURE);
}

interface AuditedWith {
  readonly gateway: GatewayFacts;
  /** The block as it is in the file. */
  readonly written: unknown;
}

/** Looks over how the sender of one mapping proves who it is, and whether the agent could wake itself. */
function auditSender(mapping: MappingConfig, { gateway, written }: AuditedWith, add: Add): void {
  const { where, auth, preset, ignoreBots, ignoreActors } = mapping;
  const weakness = weaknessOf(auth);
  if (weakness !== undefined && !gateway.loopbackOnly) {
    add("hooks.auth_weaker_than_signature", "info", `${where}.auth`, weakness);
  }
  // A preset that says so itself knows that its sender repeats requests.
  const isOwn = preset === undefined || writesReplay(mapping, written);
  if (auth?.scheme === "signature" && auth.replaySeconds === 0 && isOwn)
    add("hooks.replay_unguarded", "warning", `${where}.auth.replaySeconds`, REPLAY);
  if (preset !== undefined && !ignoreBots && ignoreActors.length === 0) {
    add("hooks.bots_not_ignored", "warning", `${where}.ignoreBots`, BOTS);
  }
}

/** True when `replaySeconds` is written for the mapping, in its own `auth` or in that of its sender. */
function writesReplay({ where, preset = "", sender = "" }: MappingConfig, written: unknown): boolean {
  const blocks = [where, `hooks.${preset}`, `hooks.senders.${sender}`];
  return blocks.some((block) => lookup({ hooks: written }, compilePath(`${block}.auth.replaySeconds`)) !== undefined);
}

type Add = (id: AuditId, severity: AuditFinding["severity"], path: string, message: string) => void;

function weaknessOf(auth: MappingConfig["auth"]): string | undefined {
  if (auth?.scheme === "secret" || auth?.scheme === "basic") return CARRIED;
  return auth?.scheme === "signature" && !signsBody(auth) ? UNSIGNED_BODY : undefined;
}

const CARRIED =
  "is a secret that every request carries: anyone who sees one request can make others; let the sender sign where it can";
const UNSIGNED_BODY = "does not sign the body: anyone who sees one request can change what it says";
const REPLAY =
  "is 0: anyone who sees one request can send it again; leave it out unless the sender repeats requests on purpose";
const BOTS =
  "is false and ignoreActors is empty: what the agent does at the sender can wake it again; name the agent's own account in ignoreActors";
const UNSAFE_SENDER =
  "is true: anyone who can make the sender send an event speaks to the agent without the boundary; set it only if that is you alone";

function unsafePaths({ mappings, gmail }: HooksConfig): { path: string; preset: string | undefined }[] {
  const paths = new Map<string, string | undefined>();
  for (const { where, preset, allowUnsafeExternalContent } of mappings) {
    if (allowUnsafeExternalContent) paths.set(`${where}.allowUnsafeExternalContent`, preset);
  }
  const ofGmail = "hooks.gmail.allowUnsafeExternalContent";
  if (gmail.allowUnsafeExternalContent === true && !paths.has(ofGmail)) paths.set(ofGmail, undefined);
  return [...paths].map(([path, preset]) => ({ path, preset }));
}

function hasLiteralToken(written: unknown): boolean {
  if (typeof written !== "object" || written === null || !Object.hasOwn(written, "token")) return false;
  const { token } = written as { token: unknown };
  const entries: readonly unknown[] = Array.isArray(token) ? token : [token];
  return entries.some((entry) => typeof entry === "string" && !entry.includes("${"));
}
