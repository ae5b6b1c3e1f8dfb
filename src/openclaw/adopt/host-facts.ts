import { agentCatalog, channelList } from "../read-openclaw-config.ts";
import { fieldsAt, isFields } from "./fields.ts";
import type { Fields } from "./fields.ts";

/** What of the rest of the configuration decides how a block is translated. */
export interface HostFacts {
  /** As they are configured. */
  readonly agentIds: readonly string[];
  readonly defaultAgent: string;
  /** Channels that are configured and on; `undefined`: they stand in another file, and nothing is known of them. */
  readonly channels: readonly string[] | undefined;
  /** References by themselves and by their aliases in lower case; `undefined`: no list is kept. */
  readonly models: ReadonlyMap<string, string> | undefined;
  /** `agents.defaults.timeoutSeconds`. */
  readonly timeoutSeconds: number | undefined;
  readonly toldOfSessions: boolean;
}

/** Reads the facts of a configuration whose references have been replaced. */
export function readHostFacts(config: Fields): HostFacts {
  const agents = agentCatalog(config, "");
  const seconds = fieldsAt(config, "agents", "defaults")["timeoutSeconds"];
  return {
    agentIds: agents.list().map(({ id }) => id),
    defaultAgent: agents.resolve(undefined).id,
    channels: isIncluded(config["channels"]) ? undefined : channelList(config).map(({ id }) => id),
    models: modelNames(config),
    timeoutSeconds: typeof seconds === "number" && Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined,
    toldOfSessions: fieldsAt(config, "session")["notifyOnCreate"] !== false,
  };
}

/** True for an object that is completed from another file. */
export function isIncluded(value: unknown): boolean {
  return isFields(value) && Object.hasOwn(value, "$include");
}

/** An agent id as the host compares it: in lower case, with dashes in the place of other characters. */
export function agentIdOf(written: string): string {
  const folded = written.trim().toLowerCase();
  return folded
    .replaceAll(/[^a-z0-9_-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 64);
}

/** Other names under which the host knows channels. */
const CHANNEL_ALIASES: ReadonlyMap<string, string> = new Map([
  ["gchat", "googlechat"],
  ["google-chat", "googlechat"],
  ["imsg", "imessage"],
  ["internet-relay-chat", "irc"],
  ["lark", "feishu"],
  ["nc", "nextcloud-talk"],
  ["nc-talk", "nextcloud-talk"],
  ["teams", "msteams"],
  ["twitch-chat", "twitch"],
  ["zl", "zalo"],
  ["zlu", "zalouser"],
]);

/** A channel's id for the name that is written. */
export function channelIdOf(written: string): string {
  const folded = written.trim().toLowerCase();
  return CHANNEL_ALIASES.get(folded) ?? folded;
}

function modelNames(config: Fields): ReadonlyMap<string, string> | undefined {
  const models = Object.entries(fieldsAt(config, "agents", "defaults", "models"));
  if (models.length === 0) return undefined;
  const names = new Map<string, string>();
  for (const [reference, model] of models) {
    const alias = isFields(model) ? model["alias"] : undefined;
    if (typeof alias === "string" && alias !== "") names.set(alias.toLowerCase(), reference);
  }
  for (const [reference] of models) names.set(reference, reference);
  return names;
}
