import { isAbsolute, join, relative, resolve, sep } from "node:path";
import type { MappingInput } from "../../../config/hooks.ts";
import { isTemplated } from "../../../config/session.ts";
import { foldAgentId } from "../read-config.ts";
import { hasReference } from "./environment-references.ts";
import { channelIdOf, type HostFacts } from "./host-facts.ts";
import { countOf, type HostMapping } from "./hooks-schema.ts";
import { type ModelContext, translateModel } from "./model-choice.ts";
import type { MigrationNotes } from "./notes.ts";

/** A day: the longest that a run may take here. */
export const MAX_RUN_SECONDS = 86_400;

export interface TranslateContext extends ModelContext {
  readonly facts: HostFacts;
  readonly notes: MigrationNotes;
  /** The isolation of transforms. */
  readonly isolation: "process" | "none";
  /** The module of a transform as a path below `transformsDir`. */
  modulePath(written: string, where: string): string;
}

/** One entry of `mappings` in our form: what means the same is written as it stands. */
export function translateMapping(written: HostMapping, at: number, context: TranslateContext): MappingInput {
  const where = `hooks.mappings[${at}]`;
  const { notes } = context;
  const {
    match,
    agentId,
    sessionKey,
    sessionMode,
    forEach,
    channel: _,
    model,
    timeoutSeconds,
    transform,
    ...same
  } = written;
  const isWake = written.action === "wake";
  const seconds = countOf(timeoutSeconds);
  return withoutUndefined({
    ...withoutBlank(same),
    match: match && withoutUndefined({ ...match }),
    agentId: knownAgentId(translateAgentId(agentId, `${where}.agentId`, context), `${where}.agentId`, context),
    sessionKey: notBlank(sessionKey),
    sessionMode: sessionMode === "persistent" && !isWake ? sessionMode : undefined,
    forEach: notBlank(forEach)?.trim(),
    ...translateChannel(written, where, context),
    model: isWake ? notBlank(model) : translateModel(model, `${where}.model`, context),
    timeoutSeconds: seconds === undefined ? undefined : shortened(seconds, `${where}.timeoutSeconds`, notes),
    transform: transform && {
      module: context.modulePath(transform.module, `${where}.transform.module`),
      ...withoutBlank({ export: transform.export }),
    },
  });
}

/** Seconds within what a run may take here. */
function shortened(seconds: number, path: string, notes: MigrationNotes): number {
  if (seconds <= MAX_RUN_SECONDS) return seconds;
  notes.add("lost", `is more than a day and written as ${MAX_RUN_SECONDS} seconds, the longest that there is.`, path);
  return MAX_RUN_SECONDS;
}

/** The id of the configured agent that the host takes it for; otherwise what is written. */
export function translateAgentId(
  written: string | undefined,
  path: string,
  { facts, notes }: Pick<TranslateContext, "facts" | "notes">,
): string | undefined {
  const id = notBlank(written)?.trim();
  if (id === undefined || hasReference(id) || facts.agentIds === undefined || facts.agentIds.includes(id)) return id;
  const wanted = foldAgentId(id);
  const known = facts.agentIds.find((agent) => foldAgentId(agent) === wanted);
  if (known !== undefined) notes.add("written", `is written as "${known}", as the agent is configured.`, path);
  return known ?? id;
}

/** For an agent that is not configured, the default one by its id: `allowedAgentIds` still applies to it. */
function knownAgentId(
  id: string | undefined,
  path: string,
  { facts, notes }: Pick<TranslateContext, "facts" | "notes">,
): string | undefined {
  if (id === undefined || hasReference(id) || facts.agentIds === undefined || facts.agentIds.includes(id)) return id;
  notes.add("written", `is written as "${facts.defaultAgent}": no agent is called "${id}".`, path);
  return facts.defaultAgent;
}

/** `channel`, and `deliver: false` where no reply could be sent anyway. */
function translateChannel(
  { action, channel, deliver }: HostMapping,
  where: string,
  { facts, notes }: TranslateContext,
): Pick<MappingInput, "channel" | "deliver"> {
  const name = notBlank(channel)?.trim();
  const kept = deliver === undefined ? {} : { deliver };
  if (name === undefined) return kept;
  if (hasReference(name) || action === "wake" || deliver === false) return { channel: name, ...kept };
  const id = channelIdOf(name);
  if (id === "last" || facts.channels === undefined || facts.channels.includes(id)) {
    if (id !== name) notes.add("written", `is written as "${id}".`, `${where}.channel`);
    return { channel: id, ...kept };
  }
  notes.add(
    "lost",
    `is not set up in channels, so no reply could be sent there: deliver: false is written. Set the channel up and remove that to have it back.`,
    `${where}.channel`,
  );
  return { channel: id, deliver: false };
}

/** True when the session of the runs or wakes comes from the payload. */
export function hasTemplatedKey({ sessionKey }: HostMapping): boolean {
  return sessionKey !== undefined && isTemplated(sessionKey);
}

export function notBlank(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === "" ? undefined : text;
}

function withoutBlank<Value extends object>(fields: Value): Partial<Value> {
  const entries = Object.entries(fields).filter(([, value]) => !(typeof value === "string" && value.trim() === ""));
  return withoutUndefined(Object.fromEntries(entries)) as Partial<Value>;
}

function withoutUndefined<Value extends object>(fields: Value): Value {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Value;
}

interface ModuleFolders {
  /** Absolute. */
  readonly configDir: string;
  /** `hooks.transformsDir`, with its references replaced. */
  readonly transformsDir: string | undefined;
  readonly exists: (file: string) => boolean;
}

/**
 * A transform's module as a path below the folder of transforms. OpenClaw until 2026.2.12 took absolute
 * paths, and relative ones from the configuration's folder; what is not below ours stays as it is written,
 * and reading it says why it is refused.
 */
export function modulePath(
  written: string,
  where: string,
  { configDir, transformsDir, exists }: ModuleFolders,
  notes: MigrationNotes,
): string {
  const module = written.trim();
  const folder = resolve(join(configDir, "hooks", "transforms"), transformsDir?.trim() ?? ".");
  if (module === "") return module;
  const old = resolve(configDir, module);
  const isOld = isAbsolute(module) || (!exists(resolve(folder, module)) && exists(old));
  if (!isOld) return module;
  const way = relative(folder, old);
  if (way === "" || way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way)) return module;
  notes.add("written", `is written as ${JSON.stringify(way)}, as seen from the folder of transforms.`, where);
  return way;
}
