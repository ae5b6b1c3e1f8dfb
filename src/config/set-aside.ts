/** A broken part breaks only itself: its mapping keeps the version that works, or is set aside and answers 503. */
import { isDeepStrictEqual } from "node:util";
import type { AuthConfig } from "./auth/schema.ts";
import type { ConfigIssue, Findings } from "./errors.ts";
import type { MappingConfig } from "./mapping/schema.ts";

/** Verifies nothing: any call of the path, and of what is below it, is answered 503. */
export const UNVERIFIABLE: AuthConfig = { scheme: "secret", from: ["path"], secrets: [], prefix: "" };

/** The mappings that work in the active configuration, by their ids. */
export type WorkingMappings = ReadonlyMap<string, MappingConfig>;

export interface SetAsideOptions {
  /** `undefined`: every mapping must work. */
  readonly working: WorkingMappings | undefined;
  /** True when a version from before still refers only to what exists. */
  readonly stillWorks: (mapping: MappingConfig) => boolean;
}

/**
 * Sets aside the mappings that only miss something outside of the configuration, or keeps the version of
 * them that works: their issues become warnings. `undefined` when an issue concerns more than such a mapping.
 */
export function setAside(
  mappings: readonly MappingConfig[],
  findings: Findings,
  { working, stillWorks }: SetAsideOptions,
): readonly MappingConfig[] | undefined {
  if (findings.issues.length === 0) return mappings;
  if (working === undefined) return undefined;
  const reasons = new Map<MappingConfig, ConfigIssue>();
  for (const issue of findings.issues) {
    if (issue.isReference !== true || !isOfMapping(issue, mappings)) return undefined;
    for (const mapping of mappings.filter((each) => uses(each, issue))) reasons.set(mapping, issue);
  }
  const settled = mappings.map((mapping) => {
    const reason = reasons.get(mapping);
    if (reason === undefined) return mapping;
    const before = versionBefore(mapping, working);
    return before !== undefined && stillWorks(before) && isAloneOnPath(mapping, before, mappings, reasons)
      ? keptVersion(mapping, before, reason)
      : brokenBy(mapping, reason);
  });
  const lines = new Set<string>();
  for (const [at, mapping] of settled.entries()) {
    const reason = reasons.get(mappings[at] ?? mapping);
    if (reason === undefined) continue;
    lines.add(reason.path);
    findings.warn(reason.path, `${reason.message}; ${outcomeOf(mapping)}`);
  }
  for (const { path, message } of findings.issues) if (!lines.has(path)) findings.warn(path, message);
  return settled;
}

/** The version of a mapping that works now, when it takes the same requests. */
export function versionBefore(mapping: MappingConfig, working: WorkingMappings): MappingConfig | undefined {
  const before = working.get(mapping.id);
  if (before === undefined) return undefined;
  const isSame = ({ match, preset, sender }: MappingConfig): unknown => [match, preset, sender];
  return isDeepStrictEqual(isSame(before), isSame(mapping)) ? before : undefined;
}

/**
 * The version before, at the place of the new one. A secret that can be read replaces the old one, so that
 * an owner who withdraws a secret is obeyed.
 */
export function keptVersion(mapping: MappingConfig, before: MappingConfig, reason: ConfigIssue): MappingConfig {
  const { where, auth, handshakes, methods, settings } = mapping;
  const verifying = hasSecret(mapping) ? { auth, handshakes, methods, settings } : {};
  return { ...before, ...verifying, where, broken: undefined, kept: lineOf(reason) };
}

/** The mapping, set aside: its calls are answered 503. */
export function brokenBy(mapping: MappingConfig, reason: ConfigIssue): MappingConfig {
  return { ...mapping, broken: lineOf(reason) };
}

/** The warning of a mapping whose transform did not load; none for one that works. */
export function setAsideLine(mapping: MappingConfig, issue: ConfigIssue | undefined): string[] {
  return issue === undefined ? [] : [`${lineOf(issue)}; ${outcomeOf(mapping)}`];
}

function outcomeOf({ kept }: MappingConfig): string {
  return kept === undefined
    ? "this part is set aside, and its calls are answered 503"
    : "the version before stays active for this part";
}

function lineOf({ path, message }: ConfigIssue): string {
  return `${path}: ${message}`;
}

/** True for an issue of a mapping or of the block of a preset, not of the `hooks` block as a whole. */
function isOfMapping(issue: ConfigIssue, mappings: readonly MappingConfig[]): boolean {
  return mappings.some((each) => isPartOf(issue, each) || isOfPreset(issue, each));
}

/** True when the mapping cannot work because of the issue. */
function uses(mapping: MappingConfig, issue: ConfigIssue): boolean {
  if (isPartOf(issue, mapping)) return true;
  // Of `hooks.<preset>`, a mapping of one's own takes the secret and the settings, and a named sender nothing.
  if (!isOfPreset(issue, mapping) || mapping.where.startsWith("hooks.senders")) return false;
  return SECRET.test(issue.path) ? !hasSecret(mapping) : mapping.broken !== undefined;
}

const SECRET = /\.(?:auth\.)?secret(?:\[\d+\])?$/;

function isPartOf({ path }: ConfigIssue, { where }: MappingConfig): boolean {
  return path === where || path.startsWith(`${where}.`);
}

function isOfPreset({ path }: ConfigIssue, { preset }: MappingConfig): boolean {
  return preset !== undefined && path.startsWith(`hooks.${preset}.`);
}

function hasSecret({ auth }: MappingConfig): boolean {
  return auth === undefined || !("secrets" in auth) || auth.secrets.length > 0;
}

/** True when no other mapping of the path would be verified in another way than the version before. */
function isAloneOnPath(
  mapping: MappingConfig,
  before: MappingConfig,
  mappings: readonly MappingConfig[],
  reasons: ReadonlyMap<MappingConfig, ConfigIssue>,
): boolean {
  if (hasSecret(mapping)) return true;
  const others = mappings.filter((each) => each !== mapping && each.match.path === mapping.match.path);
  return others.every((each) => isDeepStrictEqual(each.auth, before.auth) || reasons.has(each));
}
