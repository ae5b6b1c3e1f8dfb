/** Where programs use the tools of the gateway: a listener of its own on the loopback, which nothing else is behind. */
import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { McpEndpoint } from "../../../api/mcp-server.ts";
import { type McpTool, ToolProblem } from "../../../api/mcp-tools.ts";
import type { Logger } from "../../../core/host.ts";
import { isRefusal } from "../../../core/errors.ts";
import { answerJson } from "../../../http/answer.ts";
import { parsePayload } from "../../../http/parse-payload.ts";
import { readBody } from "../../../http/read-body.ts";
import { sendAnswer } from "../../../http/send-answer.ts";
import type { ProgramStart } from "../programs/program.ts";
import { type GrantedTool, useTool } from "./gateway-tool.ts";

const TOKEN_BYTES = 32;
const MAX_BODY_BYTES = 65_536;
const BODY_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 64;

/** What a program is given for one turn; `end` takes it away. */
export interface ToolGrant {
  /** `http://127.0.0.1:<port>`: the tool of a name is called by `POST /<name>`, and all of them by MCP at `/mcp`. */
  readonly url: string;
  readonly token: string;
  /** The name of the tool. */
  readonly tool: string;
  readonly end: () => void;
}

export class ToolEndpoint {
  readonly #logger: Logger;
  /** By the digest of the token, so that a guess is never compared with one. */
  readonly #granted = new Map<string, GrantedTool>();
  #listening: Promise<Server> | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** `127.0.0.1:<port>`, the same until it is closed. Rejects when it cannot listen. */
  async host(): Promise<string> {
    this.#listening ??= this.#listen();
    const { port } = (await this.#listening).address() as AddressInfo;
    return `127.0.0.1:${port}`;
  }

  async grant(granted: GrantedTool): Promise<ToolGrant> {
    const url = `http://${await this.host()}`;
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    this.#granted.set(digestOf(token), granted);
    return { url, token, tool: granted.tool.name, end: () => void this.#granted.delete(digestOf(token)) };
  }

  async close(): Promise<void> {
    const server = await this.#listening?.catch(() => undefined);
    server?.closeAllConnections();
    server?.close();
  }

  #listen(): Promise<Server> {
    const server = createServer({ requestTimeout: BODY_TIMEOUT_MS }, (req, res) => {
      this.#handle(req, res).catch((error: unknown) => {
        this.#logger.error({ err: error }, "a program's call of a tool of the gateway failed");
        if (!res.headersSent) sendAnswer(req, res, answerJson(500, { error: "The gateway could not do it." }));
      });
    });
    server.maxConnections = MAX_CONNECTIONS;
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", () => {
        server.unref();
        resolve(server);
      });
    });
  }

  async #handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const granted = this.#granted.get(digestOf(bearerOf(req)));
    if (granted === undefined || req.headers.origin !== undefined) {
      return sendAnswer(req, res, answerJson(401, { error: "The token is not one of a turn that runs." }));
    }
    if (req.url === "/mcp") {
      return new McpEndpoint({ tools: [mcpTool(granted)], logger: this.#logger }).handle(req, res, "write");
    }
    if (req.url !== `/${granted.tool.name}`) return sendAnswer(req, res, answerJson(404, { error: "Not found." }));
    if (req.method !== "POST") return sendAnswer(req, res, answerJson(405, { error: "Use POST." }));
    const body = await readBody(req, { maxBytes: MAX_BODY_BYTES, timeoutMs: BODY_TIMEOUT_MS });
    const parsed = isRefusal(body) ? undefined : parsePayload(body, "application/json");
    if (parsed?.ok !== true) return sendAnswer(req, res, answerJson(400, { error: "The body must be JSON." }));
    const answer = await useTool(granted, parsed.payload);
    return sendAnswer(
      req,
      res,
      "problem" in answer ? answerJson(400, { error: answer.problem }) : answerJson(201, answer.result),
    );
  }
}

function mcpTool(granted: GrantedTool): McpTool {
  const { name, description, input } = granted.tool;
  return {
    name,
    description,
    scope: "write",
    input,
    call: async (given: unknown) => {
      const answer = await useTool(granted, given);
      if ("problem" in answer) throw new ToolProblem(answer.problem);
      return answer.result;
    },
  };
}

function bearerOf({ headers }: IncomingMessage): string {
  return /^Bearer ([A-Za-z0-9_-]{20,100})$/u.exec(headers.authorization ?? "")?.[1] ?? "";
}

function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** A program that is started for one turn, with what it needs to call the tool. */
export function withGrant(start: ProgramStart, grant: ToolGrant | undefined): ProgramStart {
  if (grant === undefined) return start;
  const { url, token, tool } = grant;
  const variables = { ...start.variables, REVEILLE_WAIT_URL: `${url}/${tool}`, REVEILLE_WAIT_TOKEN: token };
  return { ...start, egress: [...start.egress, new URL(url).host], variables };
}
