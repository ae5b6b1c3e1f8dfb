import { isDeepStrictEqual } from "node:util";
import { compileCheckToken, type CheckToken } from "../auth/check-token.ts";
import { compileClientAddress, type ClientAddressResolver } from "../auth/client-address.ts";
import { Lockout } from "../auth/lockout.ts";
import { compileTokens, type TokenSet } from "../auth/token.ts";
import { SenderRoutes, type SenderRouteContext } from "../auth/sender-routes.ts";
import type { HooksConfig } from "../config/hooks.ts";
import type { MappingConfig } from "../config/mapping/schema.ts";
import { type HooksContext, readHooksConfig } from "../config/read-hooks.ts";
import { compileDispatchRules, type DispatchRules } from "../dispatch/rules.ts";
import type { IngressHooks } from "./hooks.ts";
import type { ConfigSnapshot, GatewayHost } from "../core/host.ts";
import { compileRequestHead, compileRequestTarget } from "./request-head.ts";
import { compileMapping } from "../mapping/compile-mapping.ts";
import { MappingIndex } from "../mapping/index-mappings.ts";
import { BUILT_IN_PRESETS } from "../presets/built-in.ts";
import { loadPresetModules } from "../presets/load-modules.ts";
import type { Preset } from "../presets/preset.ts";
import { PresetRegistry } from "../presets/registry.ts";
import { loadTransforms } from "../transform/load.ts";
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
  /** Warnings for the gateway's owner. */
  readonly warnings: readonly string[];
}

/** Options of {@link prepareActiveConfig}. */
export interface ActiveConfigOptions {
  readonly host: Pick<GatewayHost, "paths" | "clock" | "logger">;
  readonly hooks: IngressHooks;
  /** Where copies of the transforms folder are made; need not exist. */
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
}

/** Reads a snapshot and the presets it names, or throws a `ConfigError`; nothing is opened or started. */
export async function readSnapshot(
  { config: written, gateway, agents, channels }: Omit<ConfigSnapshot, "onCommit">,
  {
    host,
    hooks,
    env = process.env,
    mustWork,
  }: Pick<ActiveConfigOptions, "hooks"> & {
    readonly mustWork?: HooksContext["mustWork"];
    readonly host: Pick<GatewayHost, "paths">;
    readonly env?: Readonly<Record<string, string | undefined>>;
  },
): Promise<ReadSnapshot> {
  const { configDir } = host.paths;
  const registry = new PresetRegistry();
  for (const preset of BUILT_IN_PRESETS) registry.add(preset);
  hooks.presets.call(registry);
  const block = await loadPresetModules(written, { configDir, registry });
  const presets = registry.all();
  return { ...readHooksConfig(block, { configDir, gateway, agents, channels, presets, env, mustWork }), presets };
}

/** Prepares a snapshot, or throws a `ConfigError` that names every key that is wrong. */
export async function prepareActiveConfig(
  snapshot: Omit<ConfigSnapshot, "onCommit">,
  { host, hooks, keys, workDir, previous, read, signal, strict = false }: ActiveConfigOptions,
): Promise<ActiveConfig> {
  const { config, warnings, presets } =
    read ?? (await readSnapshot(snapshot, { host, hooks, mustWork: strict ? undefined : worksIn(previous) }));
  const { gateway } = snapshot;
  const { mappings } = config;
  const senders = new SenderRoutes(config.enabled ? mappings : [], { publicUrl: config.publicUrl, ...keys });
  const lockout = lockoutOf(config, host, previous);
  const tokens = compileTokens(config.tokens, { tokenHeader: config.tokenHeader });
  const parts = {
    config,
    hooks,
    readTarget: compileRequestTarget(config.path, { credentialParameters: senders.credentialNames("query") }),
    clientAddress: compileClientAddress(gateway.trustedProxies),
    tokens,
    authenticate: compileCheckToken({ tokens, lockout }),
    senders,
    lockout,
    readHead: compileRequestHead({ credentialHeaders: [config.tokenHeader, ...senders.credentialNames("header")] }),
    presets,
    dispatchRules: compileDispatchRules(config),
    warnings,
  };
  // Last: transforms are processes that must be ended when a later step fails.
  const transforms = await loadTransforms(config, {
    configDir: host.paths.configDir,
    workDir,
    logger: host.logger,
    previous: previous?.transforms,
    signal,
  });
  try {
    const compiled = mappings.map((mapping) =>
      compileMapping(mapping, transforms.get(mapping.id), presets.get(mapping.preset ?? "")),
    );
    return { ...parts, transforms, mappings: new MappingIndex(compiled, { maxBodyBytes: config.maxBodyBytes }) };
  } catch (error) {
    if (transforms !== previous?.transforms) await transforms.close();
    throw error;
  }
}

/** True for mappings that work in the active configuration: a reload that would break one is refused. */
function worksIn(previous: ActiveConfig | undefined): (mapping: MappingConfig) => boolean {
  const working = previous?.config.mappings.filter(({ broken }) => broken === undefined) ?? [];
  const ids = new Set(working.map(({ id }) => id));
  return ({ id }) => ids.has(id);
}

function lockoutOf(
  config: HooksConfig,
  host: ActiveConfigOptions["host"],
  previous: ActiveConfig | undefined,
): Lockout {
  const isSame = previous && isDeepStrictEqual(previous.config.lockout, config.lockout);
  return isSame ? previous.lockout : new Lockout(config.lockout, { clock: host.clock });
}
