/** A plugin that fails to load keeps its version of before, or is set aside; the others serve. */
import type { ConfigIssue } from "../../../config/errors.ts";
import type { GatewayHost, GatewayPlugin } from "../../../core/host.ts";
import { WebhookIngress } from "../../../index.ts";
import type { PluginPreset } from "./exports.ts";
import type { PluginManifest } from "./manifest.ts";

/** A plugin that is ready for {@link "./load".applyPlugin}. */
export interface LoadedPlugin {
  /** Of one that is set aside and whose manifest cannot be read, its path. */
  readonly id: string;
  /** `undefined`: it is set aside. */
  readonly manifest: PluginManifest | undefined;
  /** The instance; one that does nothing when the plugin brings presets only. */
  readonly plugin: GatewayPlugin;
  readonly presets: readonly PluginPreset[];
  /** Another instance of the same version, for the next host object. */
  readonly renew: () => GatewayPlugin;
  /** The path of the configuration that names it. */
  readonly path: string;
  /** Present when the plugin on disk fails: this is the version before, or nothing at all. */
  readonly failure?: PluginFailure | undefined;
}

/** The reason why a plugin is not as it is on disk. */
export interface PluginFailure {
  readonly issues: readonly ConfigIssue[];
  /** True: its version of before stays active. */
  readonly isKept: boolean;
  /** True: hooks answer 503, since the plugin may hold rules that would be missing. */
  readonly closesHooks: boolean;
}

interface FailedPlugin {
  /** The path of the configuration that names it. */
  readonly path: string;
  /** `undefined`: it cannot be read. */
  readonly manifest: PluginManifest | undefined;
  /** The plugins active now; `undefined` at a start. */
  readonly before: readonly LoadedPlugin[] | undefined;
}

/**
 * The version before of a plugin that fails, else one that does nothing; `undefined`: its configuration is refused.
 *
 * A plugin with a class may deny calls, so nothing is served without it: at a start every hook waits for it,
 * and a running gateway keeps its configuration.
 */
export function setPluginAside(
  issues: readonly ConfigIssue[],
  { path, manifest, before }: FailedPlugin,
): LoadedPlugin | undefined {
  const version = before?.find((plugin) => plugin.path === path);
  if (version?.manifest !== undefined) {
    return { ...version, plugin: version.renew(), failure: { issues, isKept: true, closesHooks: false } };
  }
  const mayDeny = manifest === undefined || manifest.entry !== undefined;
  const closesHooks = before === undefined ? mayDeny : version?.failure?.closesHooks === true;
  if (mayDeny && !closesHooks) return undefined;
  return {
    id: manifest?.id ?? path,
    manifest: undefined,
    presets: [],
    plugin: NOTHING,
    renew: () => NOTHING,
    path,
    failure: { issues, isKept: false, closesHooks },
  };
}

const NOTHING: GatewayPlugin = Object.freeze({ apply() {} });

/** Reports the failure whenever a configuration is loaded: the ingress sets aside what names its presets. */
export function tapFailure(
  host: GatewayHost,
  id: string,
  { failure, presets }: { readonly failure: PluginFailure; readonly presets: readonly PluginPreset[] },
): void {
  const { issues, isKept, closesHooks } = failure;
  WebhookIngress.hooks(host).presets.tap({ name: id, stage: -1 }, (registry) => {
    for (const issue of issues) {
      if (isKept) registry.keep({ ...issue, names: presets.map(({ preset }) => preset.name) });
      else registry.miss({ ...issue, closesHooks });
    }
  });
}
