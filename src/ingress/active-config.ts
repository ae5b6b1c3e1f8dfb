import { isDeepStrictEqual } from "node:util";
import { compileCheckToken, type CheckToken } from "../auth/check-token.ts";
import { compileClientAddress, type ClientAddressResolver } from "../auth/client-address.ts";
import { Lockout } from "../auth/lockout.ts";
import { compileTokens, type TokenSet } from "../auth/token.ts";
import { SenderRoutes, type SenderRouteContext } from "../auth/sender-routes.ts";
import type { HooksConfig } from "../config/hooks.ts";
import type { ConfigIssue } from "../config/errors.ts";
import type { MappingConfig } from "../config/mapping/schema.ts";
import { brokenBy, keptVersion, setAsideLine, versionBefore } from "../config/set-aside.ts";
import { type HooksContext, readHooksConfig } from "../config/read-hooks.ts";
import { compileDispatchRules, type DispatchRules } from "../dispatch/rules.ts";
import { compileOutgoing, type OutgoingFor } from "../dispatch/outgoing.ts";
import type { IngressHooks } from "./hooks.ts";
import type { ConfigSnapshot, GatewayHost } from "../core/host.ts";
import { compileRequestHead, compileRequestTarget } from "./request-head.ts";
import { compileMapping } from "../mapping/compile-mapping.ts";
import { MappingIndex } from "../mapping/index-mappings.ts";
import { BUILT_IN_PRESETS } from "../presets/built-in.ts";
import { loadPresetModules, type PresetModules } from "../presets/load-modules.ts";
import type { Preset } from "../presets/preset.ts";
import { PresetRegistry } from "../presets/registry.ts";
import {
  loadTransforms,
  loadWorkingTransforms,
  type LoadTransformsOptions,
  type WorkingTransforms,
} from "../transform/load.ts";
import type { TransformSet } from "../transform/set.ts";

/**
 * One configuration, made ready: everything a request needs is compiled, loaded and indexed here.
 * A request finishes on the configuration it began with; a reload makes a new one.
 */
export interface ActiveConfig {
  readonly config: HooksConfig;
  /** The hooks that plugins tapped for it; fixed once it is active. */
  readonly hooks: IngressHooks;
  readonly readTarget: ReturnType<typeof compileRequestTarget>;
  readonly clientAddress: ClientAddressResolver;
  /** Compares tokens and counts nothing; {@link authenticate} does both. */
  readonly tokens: TokenSet;
  readonly authenticate: CheckToken;
  /** The routes of senders that sign. */
  readonly senders: SenderRoutes;
  readonly lockout: Lockout;
  readonly readHead: ReturnType<typeof compileRequestHead>;
  readonly mappings: MappingIndex;
  /** Closed when the last request on this configuration has ended. */
  readonly transforms: TransformSet;
  /** Every preset there is, built-in ones and those of plugins. */
  readonly presets: ReadonlyMap<string, Preset>;
  /** The dispatch rules of a mapping. */
  readonly dispatchRules: (mappingId: string | null) => DispatchRules;
  /** What the runs of a mapping may let out. */
  readonly outgoing: OutgoingFor;
  /** Warnings for the gateway's owner. */
  readonly warnings: readonly string[];
  /** The transforms that did not load: their mappings are set aside, or keep the version before. */
  readonly brokenTransforms: readonly ConfigIssue[];
  /** The parts that were read of the snapshot before its transforms were loaded. */
  readonly read: ReadSnapshot;
}

/** Options of {@link prepareActiveConfig}. */
export interface ActiveConfigOptions {
  readonly host: Pick<GatewayHost, "paths" | "clock" | "logger">;
  readonly hooks: IngressHooks;
  /** Folder for copies of the transforms folder; need not exist. */
  readonly workDir: string;
  /** The keys that senders are verified by and that are not in the configuration. */
  readonly keys: Omit<SenderRouteContext, "publicUrl">;
  /** The active configuration, whose locked addresses stay locked, and whose unchanged transforms are kept. */
  readonly previous: ActiveConfig | undefined;
  /** True: every mapping must work, and none is set aside. */
  readonly strict?: boolean;
  /** The snapshot as it was read before; absent: it is read. */
  readonly read?: ReadSnapshot;
  /** Aborted when the configuration is no longer needed. */
  readonly signal?: AbortSignal;
}

/** A snapshot with its defaults. */
export interface ReadSnapshot {
  readonly config: HooksConfig;
  readonly warnings: readonly string[];
  /** Every preset there is: built-in ones, those of plugins and those of the configuration's folder. */
  readonly presets: ReadonlyMap<string, Preset>;
  /** Those of the configuration's folder, by the paths that name them. */
  readonly presetModules: PresetModules;
}

/** Reads a snapshot and the presets it names, or throws a `ConfigError`; nothing is opened or started. */
export async function readSnapshot(
  { config: written, gateway, agents, channels }: Omit<ConfigSnapshot, "onCommit">,
  {
    host,
    hooks,
    env = process.env,
    working,
    presetModules = new Map(),
  }: Pick<ActiveConfigOptions, "hooks"> & {
    /** The mappings active now. Absent: every part must work. */
    readonly working?: HooksContext["working"];
    readonly presetModules?: PresetModules | undefined;
    readonly host: Pick<GatewayHost, "paths">;
    readonly env?: Readonly<Record<string, string | undefined>>;
  },
): Promise<ReadSnapshot> {
  const { configDir } = host.paths;
  const registry = new PresetRegistry();
  for (const preset of BUILT_IN_PRESETS) registry.add(preset);
  hooks.presets.call(registry);
  const before = working && presetModules;
  const { block, modules } = await loadPresetModules(written, { configDir, registry, before });
  const presets = registry.all();
  const { missing, kept } = registry;
  const context = { configDir, gateway, agents, channels, presets, env, working, missing, kept };
  return { ...readHooksConfig(block, context), presets, presetModules: modules };
}

/** Prepares a snapshot, or throws a `ConfigError` that names every key that is wrong. */
export async function prepareActiveConfig(
  snapshot: Omit<ConfigSnapshot, "onCommit">,
  { host, hooks, keys, workDir, previous, read, signal, strict = false }: ActiveConfigOptions,
): Promise<ActiveConfig> {
  const working = workingIn(previous);
  const found =
    read ??
    (await readSnapshot(snapshot, {
      host,
      hooks,
      working: strict ? undefined : working,
      presetModules: previous?.read.presetModules,
    }));
  const { config, presets } = found;
  const { gateway } = snapshot;
  const { mappings } = config;
  const senders = new SenderRoutes(config.enabled ? mappings : [], { publicUrl: config.publicUrl, ...keys });
  const lockout = lockoutOf(config, host, previous);
  const tokens = compileTokens(config.tokens, { tokenHeader: config.tokenHeader });
  const parts = {
    read: found,
    hooks,
    readTarget: compileRequestTarget(config.path, { credentialParameters: senders.credentialNames("query") }),
    clientAddress: compileClientAddress(gateway.trustedProxies),
    tokens,
    authenticate: compileCheckToken({ tokens, lockout }),
    senders,
    lockout,
    readHead: compileRequestHead({ credentialHeaders: [config.tokenHeader, ...senders.credentialNames("header")] }),
    presets,
  };
  // Last: transforms are processes that must be ended when a later step fails.
  const { set: transforms, issues } = await loadWorking(config, {
    strict,
    configDir: host.paths.configDir,
    workDir,
    logger: host.logger,
    previous: previous?.transforms,
    signal,
  });
  try {
    const settled = mappings.map((mapping) => {
      const issue = issues.get(mapping.id);
      if (issue === undefined || mapping.broken !== undefined) return mapping;
      const before = versionBefore(mapping, working);
      if (before !== undefined && previous?.transforms.get(mapping.id) !== undefined) {
        transforms.keep(mapping.id, previous.transforms);
        return keptVersion(mapping, before, issue);
      }
      return brokenBy(mapping, issue);
    });
    const compiled = settled.map((mapping) =>
      compileMapping(mapping, transforms.get(mapping.id), presets.get(mapping.preset ?? "")),
    );
    const complete = { ...config, mappings: settled };
    return {
      ...parts,
      config: complete,
      dispatchRules: compileDispatchRules(complete),
      outgoing: compileOutgoing(complete, { gatewaySecrets: gateway.secrets, presets }),
      warnings: [...found.warnings, ...settled.flatMap((mapping) => setAsideLine(mapping, issues.get(mapping.id)))],
      brokenTransforms: [...issues.values()],
      transforms,
      mappings: new MappingIndex(compiled, { maxBodyBytes: config.maxBodyBytes }),
    };
  } catch (error) {
    if (transforms !== previous?.transforms) await transforms.close();
    throw error;
  }
}

async function loadWorking(
  config: HooksConfig,
  { strict, ...options }: LoadTransformsOptions & { readonly strict: boolean },
): Promise<WorkingTransforms> {
  if (strict) return { set: await loadTransforms(config, options), issues: new Map() };
  return await loadWorkingTransforms(config, options);
}

/** The mappings that work now, by their ids: a reload that breaks one keeps this version of it. */
function workingIn(previous: ActiveConfig | undefined): ReadonlyMap<string, MappingConfig> {
  const working = previous?.config.mappings.filter(({ broken }) => broken === undefined) ?? [];
  return new Map(working.map((mapping) => [mapping.id, mapping]));
}

function lockoutOf(
  config: HooksConfig,
  host: ActiveConfigOptions["host"],
  previous: ActiveConfig | undefined,
): Lockout {
  const isSame = previous && isDeepStrictEqual(previous.config.lockout, config.lockout);
  return isSame ? previous.lockout : new Lockout(config.lockout, { clock: host.clock });
}
