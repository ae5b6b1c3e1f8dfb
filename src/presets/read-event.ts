import type { PresetSettings } from "../config/preset.ts";
import type { EventActor, EventAuthor, EventObject, PayloadContext } from "../core/delivery.ts";
import { joinText } from "../core/payload-text.ts";
import type { ChatMessage, Preset, PresetAnswer, PresetContext, PresetEvent } from "./preset.ts";
import { asJson } from "./message/data-lines.ts";

/** A preset's reading of a request. */
export interface RecognizedEvent {
  /** With the payload as the preset unwraps it, the event's name and its actor. */
  readonly context: PayloadContext;
  /** Those whose text it carries, besides the actor. */
  readonly authors: readonly EventAuthor[];
  readonly deliveryId: string | undefined;
  /** Why there is nothing for an agent in it. */
  readonly skip: string | undefined;
}

const MAX_NAME = 200;
/** The events of a batch are joined, and `events` has to know them all. */
const MAX_EVENT = 2_000;
/** Longer than a message of any platform. */
const MAX_CHAT = 65_536;

/**
 * Reads a request through a preset. A preset meets payloads that its author did not foresee: a function that
 * throws counts as unknown, so that a signed event is never lost.
 */
export function readEvent(preset: Preset, given: PayloadContext, settings: PresetSettings): RecognizedEvent {
  const payload = attempt(() => preset.unwrap(given.payload)) ?? given.payload;
  const context: PresetContext = { ...given, payload, settings };
  const event = bounded(
    attempt(() => preset.eventOf(context)),
    MAX_EVENT,
  );
  const actor = actorOf(preset, context);
  const named: PresetEvent = { ...context, event, actor };
  return {
    context: { ...given, payload, event, actor },
    authors: authorsOf(preset, context),
    deliveryId: idOf(preset, context),
    skip: bounded(
      attempt(() => preset.skip(named)),
      MAX_NAME,
    ),
  };
}

/** A preset's message; what is known of the event and its payload as JSON when it has none. */
export function readMessage(preset: Preset, context: PayloadContext & { readonly settings: PresetSettings }): string {
  const event: PresetEvent = { ...context, event: context.event };
  const message = attempt(() => preset.message(event));
  if (typeof message === "string" && message.trim() !== "") return message;
  return joinText("\n", joinText(": ", `${preset.title} event`, event.event ?? ""), asJson(context.payload));
}

/** The message of a private chat, bounded; `undefined` for all else. */
export function readChat(preset: Preset, context: PayloadContext, settings: PresetSettings): ChatMessage | undefined {
  const chat = attempt(() => preset.chat({ ...context, settings, event: context.event }));
  const from = whole(chat?.from, MAX_NAME);
  const to = whole(chat?.to, MAX_NAME);
  const text = whole(chat?.text, MAX_CHAT);
  return from === undefined || to === undefined || text === undefined ? undefined : { from, to, text };
}

/** What an event is about; `undefined`: the preset does not know. */
export function readObject(
  preset: Preset,
  context: PayloadContext & { readonly settings: PresetSettings },
  as: "held" | "approved",
): EventObject | undefined {
  return attempt(() => preset.objects?.[as](context));
}

/** What the actor wrote in the event; `undefined`: the preset does not know. */
export function readWritten(preset: Preset, context: PayloadContext, settings: PresetSettings): string | undefined {
  const written: unknown = attempt(() => preset.written({ ...context, settings }));
  return typeof written === "string" ? written : undefined;
}

/** The answer that a preset wants instead of the ordinary one. */
export function readAnswer(
  preset: Preset,
  context: PayloadContext,
  settings: PresetSettings,
): PresetAnswer | undefined {
  return attempt(() => preset.answer({ ...context, settings, event: context.event }));
}

/** Of any length: cut, two of them could be taken for one. */
function idOf(preset: Preset, context: PresetContext): string | undefined {
  const id: unknown = attempt(() => preset.deliveryIdOf(context));
  return typeof id === "string" && id.trim() !== "" ? id : undefined;
}

function actorOf(preset: Preset, context: PresetContext): EventActor | undefined {
  const actor = attempt(() => preset.senderOf(context));
  const name = bounded(actor?.name, MAX_NAME);
  if (actor === undefined || name === undefined) return undefined;
  const id = bounded(actor.id, MAX_NAME);
  const role = bounded(actor.role, MAX_NAME);
  return {
    name,
    ...(id === undefined ? {} : { id }),
    bot: actor.bot,
    ...(actor.own ? { own: true } : {}),
    ...(actor.unproven ? { unproven: true } : {}),
    ...(role === undefined ? {} : { role }),
  };
}

/** A preset that fails to say who wrote what vouches for no one. */
function authorsOf(preset: Preset, context: PresetContext): readonly EventAuthor[] {
  const authors: unknown = attempt(() => preset.authorsOf(context));
  return isListOfObjects(authors) ? authors : [{}];
}

function isListOfObjects(value: unknown): value is readonly EventAuthor[] {
  return Array.isArray(value) && value.every((item) => typeof item === "object" && item !== null);
}

/** Never cut: half of a message could say something else. */
function whole(text: unknown, length: number): string | undefined {
  return typeof text === "string" && text.trim() !== "" && text.length <= length ? text : undefined;
}

function attempt<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function bounded(text: unknown, length: number): string | undefined {
  return typeof text === "string" && text !== "" ? text.slice(0, length) : undefined;
}
