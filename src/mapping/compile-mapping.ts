import type { MappingConfig } from "../config/mapping/schema.ts";
import { sanitizeName } from "../core/boundary/sanitize-untrusted.ts";
import type { PayloadContext } from "../core/delivery.ts";
import { readMessage } from "../presets/read-event.ts";
import type { Preset } from "../presets/preset.ts";
import type { CallTransform } from "../transform/call.ts";
import { compileRank, type RankActor } from "./actor-level.ts";
import { compileFilter, type CompiledFilter } from "./filter.ts";
import { compileRelease, type CompiledRelease } from "./release.ts";
import { type CompiledWait, compileWait } from "./compile-wait.ts";
import { compileResponse, type CompiledResponse, compileTemplate, type CompiledTemplate } from "./template.ts";
import { compileForEach, type ForEach } from "./fan-out.ts";

/** A mapping made ready at config load, so that a request only looks up and renders. */
export interface CompiledMapping {
  readonly config: MappingConfig;
  readonly name: CompiledTemplate;
  /** `undefined` for a name that depends on the payload. */
  readonly ownName: OwnName | undefined;
  readonly sessionKey: CompiledTemplate;
  /** `messageTemplate` of an agent mapping, `textTemplate` of a wake mapping, or what its preset has to say. */
  readonly content: { render(context: PayloadContext): string };
  readonly to: CompiledTemplate;
  readonly model: CompiledTemplate;
  readonly thinking: CompiledTemplate;
  /** The ref of its working copy; `undefined` when it has none. */
  readonly ref: CompiledTemplate | undefined;
  readonly forEach: ForEach | undefined;
  readonly transform: CallTransform | undefined;
  /** The preset that knows its sender, when it names one. */
  readonly preset: Preset | undefined;
  /** Gives the actor its level; `undefined` when no preset knows one. */
  readonly rank: RankActor | undefined;
  /** `undefined` when every request passes. */
  readonly filter: CompiledFilter | undefined;
  /** What releases the events that it holds; `undefined`: a person alone. */
  readonly release: CompiledRelease | undefined;
  /** The key by which calls are coalesced; `undefined` when none are. */
  readonly coalesceKey: CompiledTemplate | undefined;
  /** The wait that an accepted event makes; `undefined`: none. */
  readonly wait: CompiledWait | undefined;
  /** The body of the answer, where `respond` has one. */
  readonly responseBody: CompiledResponse | undefined;
}

/** A name that the owner wrote, and how a run has it. */
export interface OwnName {
  readonly written: string;
  readonly safe: string;
}

const DEFAULT_NAME = "Hook";

/** The name as a run has it; a default one where nothing of it is visible. */
export function safeName(written: string): string {
  return sanitizeName(written) || DEFAULT_NAME;
}

export function ownNameOf(written: string): OwnName {
  return { written, safe: safeName(written) };
}

/** Compiles the templates of a mapping; `transform` is its loaded module and `preset` its preset, when it names them. */
export function compileMapping(
  config: MappingConfig,
  transform: CallTransform | undefined,
  preset?: Preset,
): CompiledMapping {
  const template = config.action === "wake" ? config.textTemplate : config.messageTemplate;
  const name = compileTemplate(config.name ?? "");
  return {
    config,
    preset,
    forEach: config.forEach === undefined ? undefined : compileForEach(config.forEach),
    rank: compileRank(config, preset),
    filter: compileFilter(config),
    release: compileRelease(config, preset),
    coalesceKey: config.coalesce && compileTemplate(config.coalesce.key),
    wait: config.wait && compileWait(config.wait),
    responseBody:
      config.respond.kind === "content" && config.respond.body !== undefined
        ? compileResponse(config.respond.body)
        : undefined,
    name,
    ownName: name.isStatic ? ownNameOf(name.source.trim()) : undefined,
    sessionKey: compileTemplate(config.sessionKey ?? ""),
    content:
      preset !== undefined && template === undefined
        ? { render: (context) => readMessage(preset, { ...context, settings: config.settings }) }
        : compileTemplate(template ?? ""),
    to: compileTemplate(config.to ?? ""),
    model: compileTemplate(config.model ?? ""),
    thinking: compileTemplate(config.thinking ?? ""),
    ref: config.workspace?.git && compileTemplate(config.workspace.git.ref),
    transform,
  };
}
