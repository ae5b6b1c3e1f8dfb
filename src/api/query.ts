/** Query parameters of the gateway's API. */

/** Thrown for a query that cannot be answered; the message is written for the caller. */
export class ApiQueryError extends Error {
  override readonly name: string = "ApiQueryError";
}

/** Of a cursor that no page gave out. */
export const UNKNOWN_CURSOR = "cursor is not one that this list gave out.";

/** Parameters by name, each given at most once. */
export type ApiQuery = ReadonlyMap<string, string>;

const defaultLimit = 50;
const maxLimit = 200;

/** Reads the query of a request target. Throws for a parameter that is repeated or not in `names`. */
export function readApiQuery(search: string, names: readonly string[]): ApiQuery {
  const query = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(search)) {
    if (!names.includes(name)) {
      const taken = names.length === 0 ? "this path takes none" : `this path takes ${names.join(", ")}`;
      throw new ApiQueryError(`The query parameter ${JSON.stringify(name.slice(0, 100))} is unknown; ${taken}.`);
    }
    if (query.has(name)) throw new ApiQueryError(`The query parameter ${name} is given more than once.`);
    query.set(name, value);
  }
  return query;
}

/** The page that a query asks for: `limit` (1 to 200, 50 when absent) and `cursor`. */
export function readPage(query: ApiQuery): { readonly limit: number; readonly cursor?: string } {
  const cursor = query.get("cursor");
  return { limit: readLimit(query.get("limit")), ...(cursor === undefined ? {} : { cursor }) };
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return defaultLimit;
  const limit = /^\d{1,4}$/u.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > maxLimit) {
    throw new ApiQueryError(`limit must be a whole number from 1 to ${maxLimit}.`);
  }
  return limit;
}
