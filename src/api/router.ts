import type { IncomingMessage, ServerResponse } from "node:http";
import { hasUnreadBody } from "../http/read-body.ts";
import { sendAnswer } from "../http/send-answer.ts";
import { allowedMethods, findEndpoint } from "./endpoint.ts";
import type { ApiEndpoint, ApiEndpoints, ApiMethod, ApiReply, BytesAnswer } from "./endpoint.ts";
import { knownFailure, sendError } from "./errors.ts";
import { readApiPath } from "./endpoint.ts";

export interface ApiRouterOptions {
  /** The beginning of every path of the API, without a slash at its end. */
  readonly prefix: string;
  readonly endpoints: ApiEndpoints;
  /** Answers a caller who may not use the API, and returns false. */
  readonly admit: (req: IncomingMessage, res: ServerResponse) => boolean;
}

/** Answers what arrives below one prefix by the endpoints there. */
export class ApiRouter {
  readonly #options: ApiRouterOptions;

  constructor(options: ApiRouterOptions) {
    this.#options = options;
  }

  /** Rejects with what an endpoint did not foresee; nothing has been answered then. */
  async handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { prefix, endpoints, admit } = this.#options;
    const path = readApiPath(req.url ?? prefix, prefix);
    const endpoint = findEndpoint(endpoints, path);
    const method = methodOf(req);
    if (!isTaken(method, endpoint)) {
      sendError(res, "METHOD_NOT_ALLOWED", { headers: { allow: allowedMethods(endpoint) } });
      return;
    }
    if (!admit(req, res)) return;
    try {
      const reply = await endpoint?.[method]?.({ req, key: path.key ?? "", search: path.search });
      sendReply(req, res, reply);
    } catch (error) {
      answerFailure(res, error);
    }
  }
}

/** `undefined` for a method that nothing here takes. */
export function methodOf({ method }: IncomingMessage): ApiMethod | undefined {
  if (method === "GET" || method === "HEAD") return "GET";
  return method === "PUT" || method === "POST" || method === "DELETE" ? method : undefined;
}

/** Under a path that does not exist `GET` is taken, and only who is admitted learns so. */
function isTaken(method: ApiMethod | undefined, endpoint: ApiEndpoint | undefined): method is ApiMethod {
  if (method === undefined) return false;
  return endpoint === undefined ? method === "GET" : endpoint[method] !== undefined;
}

function sendReply(req: IncomingMessage, res: ServerResponse, reply: ApiReply): void {
  if (reply === undefined) sendError(res, "NOT_FOUND");
  else if ("bytes" in reply) sendBytes(req, res, reply);
  else sendAnswer(req, res, reply);
}

/** A payload is sent as a file to be saved, whatever its content: a browser must not run it. */
function sendBytes(req: IncomingMessage, res: ServerResponse, { bytes, fileName }: BytesAnswer): void {
  res.writeHead(200, {
    "content-type": "application/octet-stream",
    "content-length": bytes.length,
    "content-disposition": `attachment; filename="${fileName}"`,
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    ...(hasUnreadBody(req) ? { connection: "close" } : {}),
  });
  res.end(bytes);
}

function answerFailure(res: ServerResponse, error: unknown): void {
  const failure = knownFailure(error);
  if (failure === undefined) throw error;
  sendError(res, failure.code, failure);
}
