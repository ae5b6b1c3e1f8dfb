import type { AgentCatalog, ChannelInfo, GatewayFacts } from "../core/host.ts";
import { readAllowedAgentIds } from "./allowed-agents.ts";
import { auditHooks } from "./audit.ts";
import { checkBudget, readBudget } from "./budget.ts";
import { checkCallbackSecret, readCallbacks } from "./callbacks.ts";
import { readChains } from "./chains.ts";
import { checkChannel, readTarget } from "./channel-target.ts";
import { ConfigError, configLines, Findings } from "./errors.ts";
import { readGmail } from "./gmail.ts";
import { readHookPath } from "./hook-prefix.ts";
import { type HooksConfig, HooksSchema } from "./hooks.ts";
import { readLockout } from "./lockout.ts";
import { readExposures } from "./mapping/exposures.ts";
import { normalizeMapping } from "./mapping/normalize.ts";
import { readMappings, withFreeIds } from "./mapping/read.ts";
import { checkInstructions, checkReferences } from "./mapping/rules.ts";
import { warnOfLiteral } from "./mapping/placeholders.ts";
import { checkWhen } from "./mapping/run-rules.ts";
import type { MappingConfig } from "./mapping/schema.ts";
import { closedBy, type KeptPresets, leaveOutMissing, missingLines, type MissingPresets } from "./missing-presets.ts";
import { checkSenderNames, checkSenders } from "./named-senders.ts";
import { checkPresetBlock, ConfiguredPresets } from "./preset-settings.ts";
import type { PresetPart } from "./preset.ts";
import { checkPublicUrl, readPublicUrl } from "./public-url.ts";
import { readReplies } from "./replies.ts";
import { readRetention } from "./retention.ts";
import { DEFAULT_RETRY, readRetry } from "./retry.ts";
import { compileSchemaCheck, type SchemaIssue } from "./schema-check.ts";
import { BUDGET_BYTES, milliseconds, PROBE_SECONDS, readBodyBytes, readTtlMs } from "./schema-parts.ts";
import { checkDefaultSessionKey, checkTemplatedKeys, readPrefixes } from "./session.ts";
import { setAside, type WorkingMappings } from "./set-aside.ts";
import { closestKey, showNames, showValue } from "./show-value.ts";
import { readStore } from "./store.ts";
import { readSubscriptions, type SubscriptionContext } from "./subscriptions.ts";
import { readTokenHeader, readTokens } from "./token.ts";
import { readTransforms, readTransformsDir } from "./transforms.ts";
import { isPresetKey, validSubset, type ValidSubset } from "./valid-subset.ts";
import { readWaits } from "./waits.ts";

/** The gateway that a `hooks` block is checked against, as it will be once the block is active. */
export interface HooksContext {
  /** Absolute; transforms and files with secrets are looked up from here. */
  readonly configDir: string;
  readonly gateway: GatewayFacts;
  readonly agents: AgentCatalog;
  /** `undefined`: unknown, so none is refused. */
  readonly channels: readonly ChannelInfo[] | undefined;
  /** Every preset there is by its name, built-in ones and those of plugins. */
  readonly presets: ReadonlyMap<string, PresetPart>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A mapping that refers to something missing keeps its version in here, or is set aside. Absent: every mapping must work. */
  readonly working?: WorkingMappings | undefined;
  /** Modules and plugins that fail to load: what names their presets is set aside. */
  readonly missing?: readonly MissingPresets[];
  /** Those whose version before stays active. */
  readonly kept?: readonly KeptPresets[];
}

/** Findings that are logged at every start, and not only shown by an audit. */
const LOGGED_AT_LOAD: ReadonlySet<string> = new Set([
  "hooks.token_too_short",
  "hooks.unsafe_external_content",
  "hooks.unrestricted_agent",
]);
const keys = HooksSchema.properties;
const checkSchema = compileSchemaCheck(HooksSchema, { root: ["hooks"] });

/**
 * Reads the `hooks` block (specification 2.1): checks it by the schema and by the rules about more than
 * one key, resolves secrets and fills in every default.
 *
 * Throws a {@link ConfigError} with every issue at once. A block that is not `enabled` is checked
 * by itself only: its secrets are not looked up, and its agents, models, channels and presets are not
 * compared with the gateway. Warnings are lines for the gateway's owner.
 */
export function readHooksConfig(
  raw: unknown,
  context: HooksContext,
): { config: HooksConfig; warnings: readonly string[] } {
  const { missing = [], kept = [] } = context;
  const { block, places, brought } = leaveOutMissing(raw === undefined ? {} : raw, { ...context, missing });
  const schemaIssues = [
    ...checkSchema(block, [...context.presets.keys()]),
    ...checkPresetBlocks(block, context),
    ...checkSenders(block, context.presets),
  ];
  const findings = new Findings();
  for (const { path, message } of schemaIssues) findings.refuse(path, message);
  if (typeof block !== "object" || block === null || Array.isArray(block)) throw new ConfigError(findings.issues);

  for (const { path, message } of missingLines(missing, kept)) findings.warn(path, message);
  const valid = validSubset(block, schemaIssues);
  const written = valid.mappings.map((mapping, at) => (places.has(at) ? undefined : mapping));
  const config = normalize({ ...valid, mappings: written }, context, findings);
  const notices = context.working && noticesWithout(findings);
  const mappings = setAside(config.mappings, findings, {
    working: context.working,
    stillWorks: (mapping) => stillWorks(mapping, config, context),
  });
  if (mappings === undefined) throw new ConfigError(findings.issues, findings.warnings);
  const audited = auditHooks(config, context.gateway).filter(({ id }) => LOGGED_AT_LOAD.has(id));
  const complete = mappings.map((mapping) => withKept(mapping, kept));
  return {
    config: {
      ...config,
      ...notices,
      mappings: [...complete, ...(config.enabled ? withFreeIds(brought, complete) : [])],
      closed: closedBy(missing),
    },
    warnings: configLines([...findings.warnings, ...audited]),
  };
}

/** Drops the channel of notices when the gateway does not have it: they still go to the main session. */
function noticesWithout(findings: Findings): { readonly notices: undefined } | undefined {
  const at = findings.issues.findIndex(({ path, isReference }) => isReference && path === "hooks.notices.channel");
  if (at === -1) return undefined;
  const [issue] = findings.issues.splice(at, 1);
  findings.warn(issue!.path, `${issue!.message}; notices go to the main session alone`);
  return { notices: undefined };
}

function withKept(mapping: MappingConfig, kept: readonly KeptPresets[]): MappingConfig {
  if (mapping.kept !== undefined || mapping.broken !== undefined) return mapping;
  const source = kept.find(({ names }) => mapping.preset !== undefined && names.includes(mapping.preset));
  return source === undefined ? mapping : { ...mapping, kept: `${source.path}: ${source.message}` };
}

/** True when a version from before refers to nothing missing, and the agents of today give it no more than two powers. */
function stillWorks(mapping: MappingConfig, config: HooksConfig, context: HooksContext): boolean {
  const findings = new Findings();
  checkReferences(mapping, config, context, findings);
  readExposures({ ...config, mappings: [mapping] }, context, findings);
  return findings.issues.length === 0;
}

/** Warns of a token without `enabled`: the owner of the block expects hooks to be on. */
function warnOfOff({ enabled, token }: ValidSubset["input"], findings: Findings): void {
  if (enabled !== undefined || token === undefined) return;
  findings.warn("hooks.enabled", "is not set, so hooks are off although there is a token; write enabled: true");
}

/** The issues of the blocks `hooks.<preset>`. */
function checkPresetBlocks(block: unknown, { presets }: HooksContext): SchemaIssue[] {
  if (typeof block !== "object" || block === null || Array.isArray(block)) return [];
  return Object.entries(block).flatMap(([key, written]) => {
    const preset = isPresetKey(key) && written !== undefined ? presets.get(key) : undefined;
    return preset === undefined ? [] : checkPresetBlock(preset, written);
  });
}

function readInstructions(written: string | undefined, findings: Findings): string | undefined {
  const instructions = written?.trim() || undefined;
  checkInstructions(instructions, "hooks.agentInstructions", findings);
  return instructions;
}

/** Fills in and checks a block; the result is valid only when nothing was refused. */
function normalize(part: ValidSubset, context: HooksContext, findings: Findings): HooksConfig {
  const { input } = part;
  warnOfOff(input, findings);
  const enabled = input.enabled ?? keys.enabled.default;
  const config: HooksConfig = {
    enabled,
    tokens:
      enabled && part.isValid("token")
        ? readTokens(input.token, { ...context, publicUrl: input.publicUrl?.trim() || undefined }, findings)
        : [],
    tokenHeader: readTokenHeader(input.tokenHeader, findings),
    path: readHookPath(input.path, findings),
    publicUrl: undefined,
    maxBodyBytes: readBodyBytes(input.maxBodyBytes ?? keys.maxBodyBytes.default, "hooks.maxBodyBytes", findings),
    maxUnverifiedBytes: readBodyBytes(
      input.maxUnverifiedBytes ?? keys.maxUnverifiedBytes.default,
      "hooks.maxUnverifiedBytes",
      findings,
      BUDGET_BYTES,
    ),
    bodyTimeoutMs: milliseconds(input.bodyTimeoutSeconds ?? keys.bodyTimeoutSeconds.default),
    maxDepth: input.maxDepth ?? keys.maxDepth.default,
    maxInFlight: input.maxInFlight ?? keys.maxInFlight.default,
    concurrency: input.concurrency ?? keys.concurrency.default,
    maxQueuedRuns: input.maxQueuedRuns ?? keys.maxQueuedRuns.default,
    maxFanOut: input.maxFanOut ?? keys.maxFanOut.default,
    idempotencyTtlMs: readTtlMs(input.idempotencyTtl ?? keys.idempotencyTtl.default, "hooks.idempotencyTtl", findings),
    probeEveryMs:
      input.probeEvery === undefined
        ? undefined
        : readTtlMs(input.probeEvery, "hooks.probeEvery", findings, PROBE_SECONDS),
    lockout: readLockout(input.lockout ?? {}),
    allowedAgentIds: readAllowedAgentIds(input.allowedAgentIds, enabled ? context.agents : undefined, findings),
    requireAllowedAgent: input.requireAllowedAgent ?? keys.requireAllowedAgent.default,
    defaultSessionKey: input.defaultSessionKey?.trim() || undefined,
    allowRequestSessionKey: input.allowRequestSessionKey ?? keys.allowRequestSessionKey.default,
    allowedSessionKeyPrefixes: readPrefixes(input.allowedSessionKeyPrefixes),
    interrupted: input.interrupted ?? keys.interrupted.default,
    agentInstructions: readInstructions(input.agentInstructions, findings),
    acceptAllThree: input.acceptAllThree?.trim() || undefined,
    exposures: [],
    defaultTimeoutMs: milliseconds(input.defaultTimeoutSeconds ?? keys.defaultTimeoutSeconds.default),
    transformsDir: readTransformsDir(input.transformsDir, context.configDir, findings),
    transforms: readTransforms(input.transforms ?? {}, findings),
    gmail: readGmail(input.gmail ?? {}),
    retry: readRetry(input.retry, DEFAULT_RETRY, "hooks.retry", findings),
    budget: input.budget && readBudget(input.budget),
    waitMs: milliseconds(input.waitSeconds ?? keys.waitSeconds.default),
    maxWaiting: input.maxWaiting ?? keys.maxWaiting.default,
    callbacks: undefined,
    replies: readReplies(input.replies),
    chains: readChains(input.chains),
    waits: readWaits(input.waits),
    notices: input.notices && readTarget(input.notices),
    store: readStore(input.store, enabled ? context : undefined, findings),
    retention: readRetention(input.retention ?? {}, findings),
    presets: readPresets(input.presets ?? [], enabled ? [...context.presets.keys()] : undefined, findings),
    subscriptions: [],
    mappings: [],
  };
  const sources = enabled ? { ...context, tokens: config.tokens } : undefined;
  const presets = new ConfiguredPresets({
    parts: context.presets,
    written: part,
    gmail: config.gmail,
    sources,
    findings,
  });
  const enabledPresets = enabled ? config.presets.filter((name) => context.presets.has(name)) : [];
  if (enabled) {
    checkSenderNames(part.senders, { known: [...context.presets.keys()], enabled: enabledPresets }, findings);
  }
  const { mappings, effective } = readMappings(part.mappings, {
    presets,
    enabledPresets,
    sources,
    retry: config.retry,
    findings,
  });
  const callbacks = readCallbacks(input.callbacks, sources, findings);
  checkCallbackSecret(callbacks, mappings, findings);
  checkBudget(config.budget, "hooks.budget", findings);
  warnOfLiteral(config.notices?.to, "hooks.notices.to", findings);
  warnOfLiteral(config.defaultSessionKey, "hooks.defaultSessionKey", findings);
  if (enabled && part.isValid("presets", "mappings")) presets.warnOfUnused();
  if (part.isValid("defaultSessionKey", "allowedSessionKeyPrefixes")) {
    checkDefaultSessionKey(config.defaultSessionKey, config.allowedSessionKeyPrefixes, findings);
  }
  if (part.isValid("allowedSessionKeyPrefixes")) {
    checkTemplatedKeys(effective, config.allowedSessionKeyPrefixes, findings);
  }
  const complete = {
    ...config,
    mappings,
    callbacks,
    publicUrl: readPublicUrl(input.publicUrl, config.path, findings),
    subscriptions:
      sources === undefined || !part.isValid("mappings", "senders")
        ? []
        : readSubscriptions(input.subscriptions, subscriptionContext(mappings, context), findings),
  };
  if (enabled && part.isValid("publicUrl")) checkPublicUrl(complete, findings);
  if (!enabled) return complete;
  checkAgainstGateway(complete, part.refusedMappings, context, findings);
  return { ...complete, exposures: readExposures(complete, context, findings) };
}

function subscriptionContext(mappings: readonly MappingConfig[], context: HooksContext): SubscriptionContext {
  const { gateway, working } = context;
  return { sources: context, mappings, isHeld: gateway.holdsSubscriptions === true, setsAside: working !== undefined };
}

/** Checks the agents, models and channels of the block by those of the gateway. */
function checkAgainstGateway(
  config: HooksConfig,
  refused: ValidSubset["refusedMappings"],
  context: HooksContext,
  findings: Findings,
): void {
  for (const mapping of config.mappings) checkReferences(mapping, config, context, findings);
  // The rules of a whole mapping need all its keys; these need one key each.
  for (const [at, input] of refused) {
    const mapping = normalizeMapping(input, at, new Findings());
    checkWhen(mapping, findings);
    checkReferences(mapping, config, context, findings);
  }
  if (config.notices) checkChannel(config.notices.channel, "hooks.notices.channel", context.channels, findings);
}

function readPresets(written: readonly string[], known: readonly string[] | undefined, findings: Findings): string[] {
  const names = written.map((name) => name.trim());
  for (const [at, name] of names.entries()) {
    if (known === undefined || known.includes(name)) continue;
    const closest = closestKey(name, known);
    const hint = closest === undefined ? `known are ${showNames(known)}` : `did you mean "${closest}"?`;
    findings.refuse(`hooks.presets[${at}]`, `${showValue(name)} is not a preset; ${hint}`);
  }
  return [...new Set(names)];
}
