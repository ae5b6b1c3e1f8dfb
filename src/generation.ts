import { isDeepStrictEqual } from "node:util";
import { compileAuthenticate } from "./auth/authenticate.ts";
import type { Authenticate } from "./auth/authenticate.ts";
import { compileClientAddress } from "./auth/client-address.ts";
import type { ClientAddressResolver } from "./auth/client-address.ts";
import { Lockout } from "./auth/lockout.ts";
import { compileTokens } from "./auth/token.ts";
import type { TokenCheck } from "./auth/token.ts";
import { SenderRoutes } from "./auth/sender-routes.ts";
import type { SenderRouteContext } from "./auth/sender-routes.ts";
import type { HooksConfig } from "./config/hooks-config.ts";
import { readHooksConfig } from "./config/read-hooks-config.ts";
import { compileDispatchRules } from "./dispatch/dispatch-rules.ts";
import type { DispatchRules } from "./dispatch/dispatch-rules.ts";
import type { IngressHooks } from "./hooks.ts";
import type { ConfigSnapshot, GatewayHost } from "./host.ts";
import { compileRequestHead } from "./http/request-head.ts";
import { compileRequestTarget } from "./http/request-target.ts";
import { compileMapping } from "./mapping/compile-mapping.ts";
import { MappingIndex } from "./mapping/mapping-index.ts";
import { BUILT_IN_PRESETS } from "./presets/built-in-presets.ts";
import { loadPresetModules } from "./presets/load-preset-modules.ts";
import type { Preset } from "./presets/preset.ts";
import { PresetRegistry } from "./presets/preset-registry.ts";
import { loadTransforms } from "./transform/load-transforms.ts";

/**
 * One configuration, made ready: everything a request needs is compiled, loaded and indexed here.
 * A request finishes on the generation it began with; a reload makes a new one.
 */
export interface Generation {
  readonly config: HooksConfig;
  readonly readTarget: ReturnType<typeof compileRequestTarget>;
  readonly clientAddress: ClientAddressResolver;
  /** Compares tokens and counts nothing; {@link authenticate} does both. */
  readonly tokens: TokenCheck;
  readonly authenticate: Authenticate;
  /** The paths where the sender proves who it is in a way of its own. */
  readonly senders: SenderRoutes;
  readonly lockout: Lockout;
  readonly readHead: ReturnType<typeof compileRequestHead>;
  readonly mappings: MappingIndex;
  /** Every preset there is, built-in ones and those of plugins. */
  readonly presets: ReadonlyMap<string, Preset>;
  /** How the runs of a mapping are carried out. */
  readonly dispatchRules: (mappingId: string | null) => DispatchRules;
  /** What works and should still be looked at, in words for the gateway's owner. */
  readonly warnings: readonly string[];
}

/** What a generation is prepared from, besides the snapshot. */
export interface GenerationOptions {
  readonly host: Pick<GatewayHost, "paths" | "clock">;
  readonly hooks: Pick<IngressHooks, "presets">;
  /** The keys that senders are verified by and that are not in the configuration. */
  readonly keys: Omit<SenderRouteContext, "publicUrl">;
  /** The generation in force, whose locked addresses stay locked. */
  readonly previous: Generation | undefined;
}

/** Prepares a snapshot, or throws a `ConfigError` that names every key that is wrong. */
export async function prepareGeneration(
  snapshot: ConfigSnapshot,
  { host, hooks, keys, previous }: GenerationOptions,
): Promise<Generation> {
  const { configDir } = host.paths;
  const registry = new PresetRegistry();
  for (const preset of BUILT_IN_PRESETS) registry.add(preset);
  hooks.presets.call(registry);
  const { gateway, agents, channels } = snapshot;
  const block = await loadPresetModules(snapshot.config, { configDir, registry });
  const { config, warnings } = readHooksConfig(block, {
    configDir,
    gateway,
    agents,
    channels,
    presets: registry.all(),
    env: process.env,
  });
  const { mappings } = config;
  const transforms = await loadTransforms(mappings, { configDir, transformsDir: config.transformsDir });
  const compiled = mappings.map((mapping) =>
    compileMapping(mapping, transforms.get(mapping.id), registry.get(mapping.preset ?? "")),
  );
  const senders = new SenderRoutes(config.enabled ? mappings : [], { publicUrl: config.publicUrl, ...keys });
  const lockout = lockoutOf(config, host, previous);
  const tokens = compileTokens(config.tokens, { tokenHeader: config.tokenHeader });
  return {
    config,
    readTarget: compileRequestTarget(config.path, { credentialParameters: senders.credentialNames("query") }),
    clientAddress: compileClientAddress(gateway.trustedProxies),
    tokens,
    authenticate: compileAuthenticate({ tokens, lockout }),
    senders,
    lockout,
    readHead: compileRequestHead({ credentialHeaders: [config.tokenHeader, ...senders.credentialNames("header")] }),
    mappings: new MappingIndex(compiled, { maxBodyBytes: config.maxBodyBytes }),
    presets: registry.all(),
    dispatchRules: compileDispatchRules(config),
    warnings,
  };
}

function lockoutOf(config: HooksConfig, host: GenerationOptions["host"], previous: Generation | undefined): Lockout {
  const isSame = previous && isDeepStrictEqual(previous.config.lockout, config.lockout);
  return isSame ? previous.lockout : new Lockout(config.lockout, { clock: host.clock });
}
