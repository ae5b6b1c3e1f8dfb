/** The body of an operation on many deliveries. */
import type { IncomingMessage } from "node:http";
import Type from "typebox";
import type { BulkOptions, Target } from "../index.ts";
import { compileBodyReader } from "./body.ts";
import { ApiQueryError } from "./query.ts";
import { readFilter } from "./delivery-filter.ts";
import type { WrittenFilter } from "./delivery-filter.ts";

const MAX_IDS = 1_000;
/** The operations take no more at once; a request for more is not cut in silence. */
const MAX_LIMIT = 10_000;

const strict = { additionalProperties: false } as const;

const filterSchema = Type.Object(
  {
    state: Type.Optional(Type.String()),
    route: Type.Optional(Type.String()),
    sender: Type.Optional(Type.String()),
    since: Type.Optional(Type.String()),
    until: Type.Optional(Type.String()),
    text: Type.Optional(Type.String()),
  },
  { ...strict, minProperties: 1, title: "an object with at least one of state, route, sender, since, until, text" },
);

const common = {
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
}

const readReplay = compileBodyReader<WrittenBulk>(
  Type.Object({ ...common, asAccepted: Type.Optional(Type.Boolean()) }, strict),
);
const readOther = compileBodyReader<WrittenBulk>(Type.Object(common, strict));

export interface BulkRequest {
  readonly target: Target;
  readonly options: BulkOptions;
}

/** Reads `{ filter | ids, limit, dryRun }`, for a replay also `asAccepted`. Rejects with an {@link ApiQueryError}. */
export async function readBulkRequest(
  req: IncomingMessage,
  { isReplay, now }: { isReplay: boolean; now: number },
): Promise<BulkRequest> {
  const { filter, ids, limit, dryRun = false, asAccepted = false } = await (isReplay ? readReplay : readOther)(req);
  return { target: readTarget({ filter, ids, limit }, now), options: { dryRun, asAccepted } };
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
