import type { PayloadContext, PayloadFormat } from "../../core/delivery.ts";
import { refuse } from "../../core/errors.ts";
import type { Refusal } from "../../core/errors.ts";
import { parsePayload } from "../../http/parse-payload.ts";
import type { VerifiedRequest } from "./verify.ts";

/** A verified request whose body has been read as data. */
export interface Parsed {
  readonly context: PayloadContext;
  readonly format: PayloadFormat;
  /** The payload, where `JSON.parse` alone makes it of the body. */
  readonly bodyPayload: unknown;
}

/** Reads the body as JSON or as what the route takes besides. */
export function parse(
  request: VerifiedRequest,
  options: { accept: readonly PayloadFormat[]; maxDepth: number },
): Parsed | Refusal {
  const parsed = parsePayload(request.body, request.headers["content-type"], options);
  if (!parsed.ok) return refuse(parsed.code, parsed.detail);
  return {
    context: {
      path: request.path,
      headers: request.headers,
      query: request.query,
      payload: parsed.payload,
      now: new Date(request.receivedAt),
    },
    format: parsed.format,
    bodyPayload: parsed.isPlain ? parsed.payload : undefined,
  };
}
