/** Which event of a mapping approves what is held of the same object. */
import { createHash } from "node:crypto";
import { mayApprove, type ReleaseConfig } from "../config/release.ts";
import type { MappingConfig } from "../config/mapping/schema.ts";
import type { EventObject, PayloadContext } from "../core/delivery.ts";
import { readObject } from "../presets/read-event.ts";
import type { Preset } from "../presets/preset.ts";
import { compileCondition, showSeen } from "./condition/condition.ts";
import { compileEventPatterns } from "./filter.ts";
import { type CompiledTemplate, compileTemplate } from "./template.ts";

export interface CompiledRelease {
  /** What an event that is held is about, in digests; `undefined`: no event can approve it. */
  heldObject(context: PayloadContext): EventObject | undefined;
  /** Of an event that approves; `undefined`: it is one like any other. */
  judge(context: PayloadContext): Judged | undefined;
}

/** `refused`: it would approve, and its actor may not. */
export type Judged = { readonly approved: EventObject } | { readonly refused: string };

type ReadObject = (context: PayloadContext, as: "held" | "approved") => EventObject | undefined;

/** Compiles `release`; `undefined` where the mapping has none. */
export function compileRelease(
  { id, release, settings }: MappingConfig,
  preset: Preset | undefined,
): CompiledRelease | undefined {
  if (release === undefined || preset === undefined) return undefined;
  const { on, when, object, text } = release;
  const read: ReadObject =
    object === undefined
      ? (context, as) => readObject(preset, { ...context, settings }, as)
      : byTemplates(compileTemplate(object), text === undefined ? undefined : compileTemplate(text));
  const events = compileEventPatterns(on);
  const condition = when === undefined ? undefined : compileCondition(when);
  return {
    heldObject: (context) => digested(id, read(context, "held")),
    judge(context) {
      if (context.event === undefined || !events.matches(context.event)) return undefined;
      if (condition?.miss(context) !== undefined) return undefined;
      const approved = digested(id, read(context, "approved"));
      if (approved === undefined) return undefined;
      const refused = refusalOf(context, release);
      return refused === undefined ? { approved } : { refused };
    },
  };
}

/** What a run of the gateway has caused approves nothing, and neither does a program. */
function refusalOf({ actor, chain }: PayloadContext, release: ReleaseConfig): string | undefined {
  const who = actor === undefined ? "the actor" : `the actor ${showSeen(actor.name)}`;
  if (actor?.own) return `release: ${who} is the webhook's own app or account`;
  if (actor?.bot) return `release: ${who} is a bot`;
  if (chain !== undefined) return "release: a run of this gateway caused the event";
  if (mayApprove(actor?.ownLevel, release)) return undefined;
  return `release: ${who} is ${actor?.ownLevel ?? "unknown"}, and ${release.by} is the least that may approve`;
}

function byTemplates(object: CompiledTemplate, text: CompiledTemplate | undefined): ReadObject {
  const parts = object.expressions.map((expression) => compileTemplate(`{{${expression}}}`));
  return (context) => {
    // Half of an address is that of another object.
    if (parts.some((part) => part.render(context) === "")) return undefined;
    return { id: object.render(context), ...(text && { text: text.render(context) }) };
  };
}

function digested(mappingId: string, object: EventObject | undefined): EventObject | undefined {
  if (object === undefined) return undefined;
  const { id, text } = object;
  return { id: digest([mappingId, id]), ...(text === undefined ? {} : { text: digest([text]) }) };
}

function digest(parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
