/** Reads which deliveries a caller asks for, from a query or a body. */
import type { IncomingMessage } from "node:http";
import ms, { type StringValue } from "ms";
import Type from "typebox";
import { LEVELS } from "../core/delivery.ts";
import { STATES } from "../core/run.ts";
import type { BulkOptions, DeliveryFilter, Operation, Target } from "../index.ts";
import { ApiQueryError, compileBodyReader } from "./request.ts";

const AGO = /^\d{1,6}(?:\.\d{1,3})? ?(?:ms|s|m|h|d|w)$/u;
/** Ten digits are seconds: as milliseconds they are in 1970. */
const EPOCH = /^\d{10,15}$/u;
/** A time of day needs an offset: no one knows what time zone the gateway is in. */
const ISO = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/u;

/**
 * A point in time as people write it, in milliseconds since the epoch: ISO 8601 (`2026-02-27` begins in
 * UTC, a time of day needs `Z` or an offset), seconds or milliseconds since the epoch, or how long ago (`2h`).
 */
export function readPointInTime(name: string, text: string, now: number): number {
  if (AGO.test(text)) return Math.round(now - ms(text as StringValue));
  const time = EPOCH.test(text)
    ? Number(text) * (text.length === 10 ? 1_000 : 1)
    : ISO.test(text)
      ? Date.parse(text.replace(" ", "T"))
      : NaN;
  if (Number.isNaN(time)) {
    throw new ApiQueryError(
      `${name} must be a time such as 2026-02-27, 2026-02-27T10:00:00Z, seconds or milliseconds since 1970, or how long ago such as 30m, 2h, 7d.`,
    );
  }
  return time;
}

/** The names of a filter; `sender` is the earlier name of `actor`. */
export const FILTER_NAMES = ["state", "route", "actor", "level", "chain", "sender", "since", "until", "text"] as const;

export type WrittenFilter = Readonly<Partial<Record<(typeof FILTER_NAMES)[number], string>>>;

const MAX_CHARS = 1_024;

/** Reads a filter; `now` is what durations count back from. Throws an {@link ApiQueryError}. */
export function readFilter(written: WrittenFilter, now: number): DeliveryFilter {
  for (const name of FILTER_NAMES) refuseLength(name, written[name]);
  const { state, route, sender, actor = sender, level, chain, since, until, text } = written;
  if (sender !== undefined && sender !== actor)
    throw new ApiQueryError("sender is the earlier name of actor; leave it out.");
  return {
    ...(state === undefined ? {} : { state: readOneOf("state", state, STATES) }),
    ...(route === undefined ? {} : { route }),
    ...(actor === undefined ? {} : { actor }),
    ...(chain === undefined ? {} : { chain }),
    ...(level === undefined ? {} : { level: readOneOf("level", level, LEVELS) }),
    ...(since === undefined ? {} : { receivedFrom: readPointInTime("since", since, now) }),
    ...(until === undefined ? {} : { receivedBefore: readPointInTime("until", until, now) }),
    ...(text === undefined ? {} : { text }),
  };
}

/** An empty value is likelier a variable that was not set than a wish for everything. */
function refuseLength(name: string, value: string | undefined): void {
  if (value === undefined || (value !== "" && value.length <= MAX_CHARS)) return;
  throw new ApiQueryError(`${name} must have 1 to ${MAX_CHARS} characters.`);
}

function readOneOf<Word extends string>(name: string, text: string, words: readonly Word[]): Word {
  const word = words.find((known) => known === text);
  if (word === undefined) throw new ApiQueryError(`${name} must be one of ${words.join(", ")}.`);
  return word;
}

const MAX_IDS = 1_000;
/** The operations take no more at once; a request for more is not cut in silence. */
const MAX_LIMIT = 10_000;

const strict = { additionalProperties: false } as const;

const filterSchema = Type.Object(
  {
    state: Type.Optional(Type.String()),
    route: Type.Optional(Type.String()),
    actor: Type.Optional(Type.String()),
    level: Type.Optional(Type.String()),
    chain: Type.Optional(Type.String()),
    sender: Type.Optional(Type.String()),
    since: Type.Optional(Type.String()),
    until: Type.Optional(Type.String()),
    text: Type.Optional(Type.String()),
  },
  {
    ...strict,
    minProperties: 1,
    title: "an object with at least one of state, route, actor, level, chain, since, until, text",
  },
);

const bulkProperties = {
  filter: Type.Optional(filterSchema),
  ids: Type.Optional(Type.Array(Type.String({ maxLength: 100 }), { minItems: 1, maxItems: MAX_IDS })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LIMIT })),
  dryRun: Type.Optional(Type.Boolean()),
};

interface WrittenBulk {
  readonly filter?: WrittenFilter;
  readonly ids?: readonly string[];
  readonly limit?: number;
  readonly dryRun?: boolean;
  readonly asAccepted?: boolean;
  readonly note?: string;
}

const readBulkReplayBody = compileBodyReader<WrittenBulk>(
  Type.Object({ ...bulkProperties, asAccepted: Type.Optional(Type.Boolean()) }, strict),
);
/** A person's reason, in a line or two. */
export const noteSchema = Type.String({ maxLength: 500 });
const readBulkResolveBody = compileBodyReader<WrittenBulk>(
  Type.Object({ ...bulkProperties, note: Type.Optional(noteSchema) }, strict),
);
const readBulkBody = compileBodyReader<WrittenBulk>(Type.Object(bulkProperties, strict));

interface BulkRequest {
  readonly target: Target;
  readonly options: BulkOptions;
}

/** A payload, or a whole `hooks` block. */
export const MAX_PREVIEW_BYTES = 4_194_304;
/** An edited configuration as JSON5. */
export const editSchema = Type.String({ minLength: 1 });

const readBacktestBody = compileBodyReader<{
  readonly filter: WrittenFilter;
  readonly limit?: number;
  readonly cursor?: string;
  readonly edit?: string;
}>(
  Type.Object(
    {
      filter: filterSchema,
      edit: Type.Optional(editSchema),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
      cursor: Type.Optional(Type.String({ maxLength: MAX_CHARS })),
    },
    strict,
  ),
  { maxBytes: MAX_PREVIEW_BYTES },
);

/** Reads `{ filter, limit, cursor, edit }`. Rejects with an {@link ApiQueryError}. */
export async function readBacktestRequest(
  req: IncomingMessage,
  now: number,
): Promise<{
  readonly filter: DeliveryFilter;
  readonly page: { limit: number; cursor?: string };
  readonly edit: string | undefined;
}> {
  const { filter, limit = 50, cursor, edit } = await readBacktestBody(req);
  return { filter: readFilter(filter, now), page: { limit, ...(cursor === undefined ? {} : { cursor }) }, edit };
}

const BULK_BODIES: Readonly<Record<Operation, typeof readBulkBody>> = {
  replay: readBulkReplayBody,
  release: readBulkBody,
  cancel: readBulkBody,
  purge: readBulkBody,
  resolve: readBulkResolveBody,
};

/**
 * Reads `{ filter | ids, limit, dryRun }`, for a replay also `asAccepted`, for a resolution also `note`. Rejects with
 * an {@link ApiQueryError}.
 */
export async function readBulkRequest(
  req: IncomingMessage,
  { operation, now }: { operation: Operation; now: number },
): Promise<BulkRequest> {
  const { filter, ids, limit, dryRun = false, asAccepted = false, note } = await BULK_BODIES[operation](req);
  return { target: readTarget({ filter, ids, limit }, now), options: { dryRun, asAccepted, note } };
}

function readTarget(
  { filter, ids, limit }: { [Key in "filter" | "ids" | "limit"]: WrittenBulk[Key] | undefined },
  now: number,
): Target {
  if ((filter === undefined) === (ids === undefined)) {
    throw new ApiQueryError("The body must have either filter, with at least one key, or ids.");
  }
  if (ids === undefined) return { filter: readFilter(filter ?? {}, now), limit };
  if (limit !== undefined) throw new ApiQueryError("limit goes with filter, and not with ids.");
  return { ids };
}
