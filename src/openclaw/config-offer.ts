/** Offers the host's configuration to the plugins, which take it into use together or not at all. */
import type { ConfigSnapshot } from "../host.ts";
import type { OpenClawHost } from "./openclaw-host.ts";
import type { OpenClawConfig } from "./openclaw-sdk.ts";
import { RouteTable } from "./openclaw-routes.ts";
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
 * of the configuration is in use anywhere.
 */
export async function offerConfig(
  host: OpenClawHost,
  offer: { config: OpenClawConfig; reason: ConfigSnapshot["reason"] },
  options: ConfigOfferOptions,
): Promise<RouteTable> {
  const { config, reason } = offer;
  const block = options.block(pluginBlock(config, options.pluginId));
  refuseClash(block, config, options.pluginId);
  const commits: (() => void)[] = [];
  let isOpen = true;
  try {
    await host.lifecycle.onConfigLoad.promise({
      config: block,
      reason,
      gateway: gatewayFacts(config),
      agents: agentCatalog(config, options.pluginId),
      channels: channelList(config),
      onCommit(commit) {
        if (!isOpen) throw new Error("onCommit() was called after onConfigLoad had ended.");
        commits.push(commit);
      },
    });
  } finally {
    isOpen = false;
  }
  for (const commit of commits) commit();
  const table = new RouteTable();
  host.lifecycle.onHttpRoute.call(table);
  return table;
}

/** The host's own hooks answer before any plugin does: below their prefix nothing of ours would be reached. */
function refuseClash(block: unknown, config: OpenClawConfig, pluginId: string): void {
  const taken = builtInPrefix(config);
  const fields = typeof block === "object" && block !== null ? (block as { enabled?: unknown; path?: unknown }) : {};
  if (taken === undefined || fields.enabled !== true || typeof fields.path !== "string") return;
  const path = `/${fields.path.trim().replaceAll(/^\/+|\/+$/g, "")}`;
  if (path !== taken && !path.startsWith(`${taken}/`) && !taken.startsWith(`${path}/`)) return;
  throw new Error(
    `plugins.entries.${pluginId}.config.path: ${path} is taken by OpenClaw's built-in hooks at ${taken}; ` +
      "turn those off (hooks.enabled: false) or choose another path.",
  );
}
