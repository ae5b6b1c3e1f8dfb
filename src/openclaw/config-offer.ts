/** Offers the host's configuration to the plugins, which take it into use together or not at all. */
import type { ConfigSnapshot } from "../host.ts";
import type { OpenClawHost } from "./openclaw-host.ts";
import type { OpenClawConfig } from "./openclaw-sdk.ts";
import { RouteTable } from "./openclaw-routes.ts";
import { blockKey } from "./plugin-block.ts";
import { agentCatalog, builtInPrefix, channelList, gatewayFacts, pluginBlock } from "./read-openclaw-config.ts";

export interface ConfigOfferOptions {
  readonly pluginId: string;
  /** What the plugins are shown for what the owner wrote. */
  readonly block: (written: unknown) => unknown;
}

/** Everything of a configuration that the plugins are shown, as one text: a change of the rest is none. */
export function configFingerprint(config: OpenClawConfig, { pluginId, block }: ConfigOfferOptions): string {
  const agents = agentCatalog(config, pluginId);
  return JSON.stringify([
    block(pluginBlock(config, pluginId)) ?? null,
    gatewayFacts(config),
    agents.list(),
    agents.allowedModels("") ?? null,
    channelList(config),
    builtInPrefix(config) ?? null,
  ]);
}

/**
 * Fires `onConfigLoad`, commits and builds the routes. Rejects with the first refusal, and then nothing
 * of the configuration is in use anywhere. A commit that throws at a reload is logged, and the others
 * come into use all the same.
 */
export async function offerConfig(
  host: OpenClawHost,
  offer: { config: OpenClawConfig; reason: ConfigSnapshot["reason"] },
  options: ConfigOfferOptions,
): Promise<RouteTable> {
  const { config, reason } = offer;
  const snapshot = snapshotOf(config, reason, options);
  const commits: (() => void)[] = [];
  let isOpen = true;
  try {
    await host.lifecycle.onConfigLoad.promise({
      ...snapshot,
      onCommit(commit) {
        if (!isOpen) throw new Error("onCommit() was called after onConfigLoad had ended.");
        commits.push(commit);
      },
    });
  } finally {
    isOpen = false;
  }
  const failures = commits.flatMap(failureOf);
  // Nothing is served yet at a start, so that it can still be refused as a whole.
  if (reason === "start" && failures.length > 0) throw failures[0];
  for (const error of failures) {
    host.logger.error({ err: error }, "A part of the new configuration could not be taken into use.");
  }
  const table = new RouteTable();
  host.lifecycle.onHttpRoute.call(table);
  return table;
}

/**
 * The configuration as plugins see it, without the commit. Throws when the hooks would be where the host's
 * own are.
 */
export function snapshotOf(
  config: OpenClawConfig,
  reason: ConfigSnapshot["reason"],
  { pluginId, block }: ConfigOfferOptions,
): Omit<ConfigSnapshot, "onCommit"> {
  const written = block(pluginBlock(config, pluginId));
  refuseClash(written, config, pluginId);
  return {
    config: written,
    reason,
    gateway: gatewayFacts(config),
    agents: agentCatalog(config, pluginId),
    channels: channelList(config),
  };
}

/** By contract none throws. One that does must not keep the parts of others from coming into use. */
function failureOf(commit: () => void): readonly unknown[] {
  try {
    commit();
    return [];
  } catch (error) {
    return [error];
  }
}

/** The host's own hooks answer before any plugin does: below their prefix nothing of ours would be reached. */
function refuseClash(block: unknown, config: OpenClawConfig, pluginId: string): void {
  const taken = builtInPrefix(config);
  const fields = typeof block === "object" && block !== null ? (block as { enabled?: unknown; path?: unknown }) : {};
  if (taken === undefined || fields.enabled !== true || typeof fields.path !== "string") return;
  const path = `/${fields.path.trim().replaceAll(/^\/+|\/+$/g, "")}`;
  if (path !== taken && !path.startsWith(`${taken}/`) && !taken.startsWith(`${path}/`)) return;
  throw new Error(
    `${blockKey(pluginId)}.path: ${path} is taken by OpenClaw's built-in hooks at ${taken}; take them over with ` +
      "`openclaw reveille adopt`, or choose another path.",
  );
}
