/**
 * What an MCP server says of its events, bounded.
 *
 * Source: https://modelcontextprotocol.io/seps/3415-events-extension; an absent cursor means the same as `null`.
 */
import Type, { type Static, type TSchema } from "typebox";
import { Check } from "typebox/schema";
import { type EventServer, EventServerError, recordOf } from "./event-server.ts";

const MAX_CURSOR = 8_192;
const MAX_PAGES = 20;
const MAX_LISTED = 1_000;
/** Of one answer; the server is asked for {@link WANTED_EVENTS}. */
const MAX_EVENTS = 1_000;
const WANTED_EVENTS = 100;

const cursorSchema = Type.Optional(Type.Union([Type.Null(), Type.String({ maxLength: MAX_CURSOR })]));

const SubscribedSchema = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 1_024 }),
  refreshBefore: Type.Union([Type.Null(), Type.String({ maxLength: 100 })]),
  cursor: cursorSchema,
  truncated: Type.Optional(Type.Boolean()),
  deliveryStatus: Type.Optional(
    Type.Union([
      Type.Null(),
      Type.Object({
        active: Type.Optional(Type.Boolean()),
        lastError: Type.Optional(Type.Union([Type.Null(), Type.String({ maxLength: 200 })])),
      }),
    ]),
  ),
});

const EventSchema = Type.Object({
  eventId: Type.String({ minLength: 1, maxLength: 1_024 }),
  name: Type.String({ minLength: 1, maxLength: 200 }),
  timestamp: Type.String({ maxLength: 100 }),
  data: Type.Record(Type.String(), Type.Unknown()),
});

const PolledSchema = Type.Object({
  events: Type.Array(Type.Unknown(), { maxItems: MAX_EVENTS }),
  cursor: cursorSchema,
  truncated: Type.Optional(Type.Boolean()),
  hasMore: Type.Optional(Type.Boolean()),
  nextPollMs: Type.Optional(Type.Number({ minimum: 0 })),
});

/** What a subscription is for: the same in every request. */
export interface EventWish {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** One event as it is handed on. */
export type PolledEvent = Static<typeof EventSchema>;

export interface Subscribed {
  readonly id: string;
  /** Milliseconds since the epoch; `null`: it does not end by itself. */
  readonly refreshBefore: number | null;
  readonly cursor: string | null;
  /** True when events were left out. */
  readonly truncated: boolean;
  /** Why the server could not deliver lately, as one of its words. */
  readonly undelivered: string | undefined;
}

export interface Polled {
  readonly events: readonly PolledEvent[];
  /** Those that are no events. */
  readonly refused: number;
  readonly cursor: string | null;
  readonly truncated: boolean;
  readonly hasMore: boolean;
  readonly nextPollMs: number | undefined;
}

/** The ways in which the server delivers an event: `poll`, `push`, `webhook`. Rejects when it does not have the event. */
export async function deliveryOf(server: EventServer, event: string): Promise<ReadonlySet<string>> {
  const names: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES && names.length < MAX_LISTED; page++) {
    const { events, nextCursor } = recordOf(
      await server.request("events/list", cursor === undefined ? {} : { cursor }),
    );
    for (const listed of Array.isArray(events) ? events.slice(0, MAX_LISTED) : []) {
      const { name, delivery } = recordOf(listed);
      if (name === event) return new Set(Array.isArray(delivery) ? delivery.slice(0, 10).map(String) : []);
      if (typeof name === "string") names.push(name.slice(0, 60));
    }
    if (typeof nextCursor !== "string" || nextCursor === cursor) break;
    cursor = nextCursor;
  }
  const known = names.length === 0 ? "it lists none" : `it lists ${names.slice(0, 10).join(", ")}`;
  throw new EventServerError(`it has no event ${JSON.stringify(event)}; ${known}`, { code: NOT_FOUND });
}

/** An unknown event; as the specification numbers it. */
const NOT_FOUND = -32_011;

export async function subscribe(
  server: EventServer,
  wish: EventWish,
  { url, secret, cursor, ttlMs }: { url: string; secret: string; cursor: string | null; ttlMs: number },
): Promise<Subscribed> {
  const delivery = { mode: "webhook", url, secret };
  const result = await server.request("events/subscribe", { ...wish, delivery, cursor, ttlMs });
  const { id, refreshBefore, deliveryStatus, ...said } = checked(SubscribedSchema, result, "events/subscribe");
  const endsAt = refreshBefore === null ? null : Date.parse(refreshBefore);
  if (endsAt !== null && !Number.isFinite(endsAt))
    throw new EventServerError("its subscription ends at no time that can be read");
  const undelivered = deliveryStatus?.active === false ? (deliveryStatus.lastError ?? "no reason") : undefined;
  return { id, refreshBefore: endsAt, cursor: said.cursor ?? null, truncated: said.truncated ?? false, undelivered };
}

export async function unsubscribe(server: EventServer, wish: EventWish, url: string): Promise<void> {
  await server.request("events/unsubscribe", { ...wish, delivery: { mode: "webhook", url } });
}

export async function poll(server: EventServer, wish: EventWish, cursor: string | null): Promise<Polled> {
  const result = await server.request("events/poll", { ...wish, cursor, maxEvents: WANTED_EVENTS });
  const { events: listed, ...said } = checked(PolledSchema, result, "events/poll");
  const events = listed.filter(isEvent);
  return {
    events: events.map(({ eventId, name, timestamp, data }) => ({ eventId, name, timestamp, data })),
    refused: listed.length - events.length,
    cursor: said.cursor ?? null,
    truncated: said.truncated ?? false,
    hasMore: said.hasMore ?? false,
    nextPollMs: said.nextPollMs,
  };
}

function isEvent(value: unknown): value is PolledEvent {
  return Check(EventSchema, value);
}

function checked<Schema extends TSchema>(schema: Schema, value: unknown, method: string): Static<Schema> {
  if (isOf(schema, value)) return value;
  throw new EventServerError(`its answer to ${method} is not what the protocol says, or exceeds a limit`);
}

function isOf<Schema extends TSchema>(schema: Schema, value: unknown): value is Static<Schema> {
  return Check(schema, value);
}

/** What a delivered body says of its subscription. */
export type Said =
  | { readonly kind: "gap"; readonly cursor: string | undefined }
  | { readonly kind: "terminated"; readonly reason: string }
  | { readonly kind: "event"; readonly cursor: string | undefined };

/** Reads a body that has been verified and stored. */
export function saidIn(body: Uint8Array): Said | undefined {
  let content: Readonly<Record<string, unknown>>;
  try {
    content = recordOf(JSON.parse(new TextDecoder().decode(body)));
  } catch {
    return undefined;
  }
  const { type, error } = content;
  const cursor =
    typeof content["cursor"] === "string" && content["cursor"].length <= MAX_CURSOR ? content["cursor"] : undefined;
  if (type === "gap") return { kind: "gap", cursor };
  if (type === undefined) return { kind: "event", cursor };
  if (type !== "terminated") return undefined;
  const { code, message } = recordOf(error);
  const why =
    typeof message === "string"
      ? message
          .slice(0, 200)
          .toWellFormed()
          .replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ")
      : "";
  return {
    kind: "terminated",
    reason: `${why === "" ? "no reason" : why} (${typeof code === "number" ? code : "no code"})`,
  };
}
