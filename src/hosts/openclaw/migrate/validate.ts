import { ConfigError, type ConfigIssue } from "../../../config/errors.ts";
import type { HooksConfig } from "../../../config/hooks.ts";
import { readHooksConfig } from "../../../config/read-hooks.ts";
import type { AgentCatalog } from "../../../core/host.ts";
import { BUILT_IN_PRESETS } from "../../../presets/built-in.ts";
import { agentCatalog, channelList, gatewayFacts, pluginBlock } from "../read-config.ts";
import { type Fields, fieldsAt } from "../fields.ts";
import { hasIncludedAgents, isIncluded } from "./host-facts.ts";
import { PLUGIN_ID } from "./plugin-section.ts";

/** Objects that adopting reads whole or writes into. */
const OURS = [
  [],
  ["hooks"],
  ["hooks", "gmail"],
  ["plugins"],
  ["plugins", "entries"],
  ["plugins", "entries", "reveille"],
  ["plugins", "entries", "reveille", "config"],
] as const;

/** Why a configuration that is spread over several files cannot be adopted, if so. */
export function includeProblem(config: Fields): string | undefined {
  const way = OURS.find((keys) => isIncluded(fieldsAt(config, ...keys)));
  if (way === undefined) return undefined;
  const where = way.length === 0 ? "The configuration" : way.join(".");
  const what = way[0] === "hooks" || way.length === 0 ? "the hooks block" : `the section plugins`;
  return (
    `${where} takes in another file by $include, which is not edited here. ` +
    `Write ${what} into the configuration itself and take the $include away, then adopt again; ` +
    "the other file may keep the other sections."
  );
}

export interface ValidateOptions {
  /** Absolute; the folder of the configuration file. */
  readonly configDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Our own reader's result for a block, as in the gateway. */
export type Validation =
  | { readonly config: HooksConfig; readonly warnings: readonly string[] }
  | { readonly issues: readonly ConfigIssue[] };

const PRESETS = new Map(BUILT_IN_PRESETS.map((preset) => [preset.name, preset]));

/** Reads our block in a configuration of the host whose references have been replaced. */
export function validateBlock(config: Fields, { configDir, env }: ValidateOptions): Validation {
  const block = pluginBlock(config, PLUGIN_ID);
  const context = {
    configDir,
    gateway: gatewayFacts(config, { ...env }),
    agents: hasIncludedAgents(config) ? anyAgents(config) : agentCatalog(config, PLUGIN_ID),
    channels: isIncluded(config["channels"]) ? namedChannels(block) : channelList(config),
    presets: PRESETS,
    env,
  };
  try {
    return readHooksConfig(block, context);
  } catch (error) {
    if (error instanceof ConfigError) return { issues: error.issues };
    throw error;
  }
}

/** Of agents in another file nothing is known: those that the block names are taken to be there. */
function anyAgents(config: Fields): AgentCatalog {
  const main = { id: "main", isDefault: true };
  return {
    ...agentCatalog(config, PLUGIN_ID),
    list: () => [main],
    resolve: (agentId) => (agentId === undefined ? main : { id: agentId, isDefault: agentId === main.id }),
  };
}

/** Of channels in another file nothing is known: those that the block names are taken to be there. */
function namedChannels(block: unknown): readonly { readonly id: string }[] {
  const mappings = typeof block === "object" && block !== null ? (block as { mappings?: unknown }).mappings : undefined;
  if (!Array.isArray(mappings)) return [];
  return mappings.flatMap((mapping: { channel?: unknown }) =>
    typeof mapping.channel === "string" ? [{ id: mapping.channel }] : [],
  );
}
