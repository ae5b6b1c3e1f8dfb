import type { IncomingMessage } from "node:http";
import { compileSchemaCheck } from "../config/schema-check.ts";
import { isRefusal } from "../core/errors.ts";
import { parsePayload } from "../http/parse-payload.ts";
import { readBody } from "../http/read-body.ts";

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

const MAX_BODY_BYTES = 65_536;
const BODY_TIMEOUT_MS = 10_000;

/**
 * Compiles a schema into a reader of request bodies: of JSON that has these keys and no others. An empty body
 * is `{}`. The reader rejects with an {@link ApiQueryError} that names every key that is wrong.
 */
export function compileBodyReader<Body>(
  schema: object,
  { maxBytes = MAX_BODY_BYTES }: { readonly maxBytes?: number } = {},
): (req: IncomingMessage) => Promise<Body> {
  const check = compileSchemaCheck(schema);
  return async (req) => {
    const payload = await readJson(req, maxBytes);
    const issues = check(payload);
    if (issues.length > 0) {
      throw new ApiQueryError(
        `The body is not valid: ${issues.map(({ path, message }) => `${path} ${message}`).join("; ")}.`,
      );
    }
    return payload as Body;
  };
}

async function readJson(req: IncomingMessage, maxBytes: number): Promise<unknown> {
  const body = await readBody(req, { maxBytes, timeoutMs: BODY_TIMEOUT_MS });
  if (isRefusal(body)) throw new ApiQueryError(`The body must be JSON of at most ${maxBytes} bytes.`);
  if (body.length === 0) return {};
  const parsed = parsePayload(body, "application/json");
  if (!parsed.ok) throw new ApiQueryError(`The body must be JSON: ${parsed.detail}`);
  return parsed.payload;
}
