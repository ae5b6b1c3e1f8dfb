/** The methods of MCP Events, as the endpoint of the MCP server knows them. */
import type { McpScope } from "./mcp-tools.ts";

/** A refusal by the protocol's own codes; the message is for the client. */
export class McpMethodError extends Error {
  override readonly name = "McpMethodError";
  readonly code: number;
  readonly data: object | undefined;

  constructor(code: number, message: string, data?: object) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Whoever has the events of the server. */
export interface EventMethods {
  /** False: the server has none, and says so. */
  readonly isOffered: boolean;
  /** Carries out a method that begins with `events/`. Rejects with an {@link McpMethodError}. */
  call(method: string, params: Readonly<Record<string, unknown>>, scope: McpScope): Promise<object>;
}

/** Some clients read the first of these, others the second. */
export const EVENT_CAPABILITIES = { events: {}, extensions: { "io.modelcontextprotocol/events": {} } };
