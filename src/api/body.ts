import type { IncomingMessage } from "node:http";
import { compileSchemaCheck } from "../config/schema-check.ts";
import { isRefusal } from "../core/errors.ts";
import { parsePayload } from "../http/parse-payload.ts";
import { readBody } from "../http/read-body.ts";
import { ApiQueryError } from "./query.ts";

const BODY_LIMITS = { maxBytes: 65_536, timeoutMs: 10_000 };

/**
 * Compiles a schema into a reader of request bodies: of JSON that has these keys and no others. An empty body
 * is `{}`. The reader rejects with an {@link ApiQueryError} that names every key that is wrong.
 */
export function compileBodyReader<Body>(schema: object): (req: IncomingMessage) => Promise<Body> {
  const check = compileSchemaCheck(schema);
  return async (req) => {
    const payload = await readJson(req);
    const issues = check(payload);
    if (issues.length > 0) {
      throw new ApiQueryError(
        `The body is not valid: ${issues.map(({ path, message }) => `${path} ${message}`).join("; ")}.`,
      );
    }
    return payload as Body;
  };
}

async function readJson(req: IncomingMessage): Promise<unknown> {
  const body = await readBody(req, BODY_LIMITS);
  if (isRefusal(body)) throw new ApiQueryError(`The body must be JSON of at most ${BODY_LIMITS.maxBytes} bytes.`);
  if (body.length === 0) return {};
  const parsed = parsePayload(body, "application/json");
  if (!parsed.ok) throw new ApiQueryError(`The body must be JSON: ${parsed.detail}`);
  return parsed.payload;
}
