/** The tools of a model: servers of the Model Context Protocol, connected for one turn. */
import type { MCPClient } from "@ai-sdk/mcp";
import { partsOfJson } from "../../../core/boundary/remove-hidden.ts";
import { wrapUntrusted } from "../../../core/boundary/wrap-untrusted.ts";
import { reasonOf } from "../../../core/reason-of.ts";
import type { ProgramStart } from "../programs/program.ts";
import type { ProgramConfig } from "../config/runtime.ts";
import type { ToolsConfig, ToolServer } from "../config/tools.ts";
import { GATEWAY_SERVER, type GrantedTool, useTool } from "./gateway-tool.ts";
import { isTool } from "./permissions.ts";
import type { RunRights } from "./run-rights.ts";
import { type ToolDefinition, toolDefinition, unusedName } from "./tool-definition.ts";
import { boundedFetch, ProgramTransport } from "./tool-transport.ts";

/** A call that a model asks for. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
}

export interface ToolsContext {
  /** The gateway's own tool, where the turn may use it. */
  readonly granted?: GrantedTool | undefined;
  readonly rights: RunRights;
  readonly signal: AbortSignal;
  /** How a server that is a program is started. */
  readonly startOf: (name: string, program: ProgramConfig) => ProgramStart;
}

/** Of an agent whose only tool is the gateway's own. */
export const NO_SERVERS: ToolsConfig = { servers: new Map(), allow: [], maxSteps: 12 };

interface Tool {
  readonly client: MCPClient;
  readonly server: string;
  readonly name: string;
  /** By the server's own word. */
  readonly isReadOnly: boolean;
  readonly definition: ToolDefinition;
}

const CONNECT_MS = 30_000;
const CALL_MS = 120_000;
/** Tools that a server can list. */
const MAX_TOOLS = 1_000;
const MAX_PAGES = 50;
/** Of a result, what the model is given. */
const MAX_RESULT_CHARS = 100_000;
/** A tool with a longer name is not listed. */
const MAX_NAME_CHARS = 200;
/** Of all tools, what the model is shown. */
const MAX_SHOWN_CHARS = 1_000_000;
/** Of what a server says about its failure. */
const MAX_REASON_CHARS = 2_000;

/** A server could not be reached or started; the message names it. */
export class ToolServerError extends Error {
  override readonly name = "ToolServerError";
}

/** The connected tools of one turn; close them when it ends. */
export class ToolBox {
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #clients: readonly MCPClient[];
  readonly #context: ToolsContext;

  /** Connects to every server; rejects with a {@link ToolServerError} when one does not answer. */
  static async open(config: ToolsConfig, context: ToolsContext): Promise<ToolBox> {
    const clients: MCPClient[] = [];
    const tools = new Map<string, Tool>();
    try {
      // A server that fails leaves none behind that is still being connected.
      const settled = await Promise.allSettled(
        [...config.servers].map(async ([name, server]) => {
          const client = await connect(name, server, context);
          clients.push(client);
          const all = await toolsOf(client, name, context.signal);
          return all.filter((tool) => config.allow.some((pattern) => isTool(pattern, `${name}.${tool.name}`)));
        }),
      );
      for (const each of settled) if (each.status === "rejected") throw each.reason;
      const listed = settled.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
      let left = MAX_SHOWN_CHARS;
      for (const tool of listed) {
        left -= JSON.stringify(tool.definition).length;
        if (left < 0) {
          const why = `with its tools, the model would be shown more than ${MAX_SHOWN_CHARS} characters; list fewer in tools.allow`;
          throw unusable(tool.server, why);
        }
        const name = unusedName(tool.definition.function.name, tools);
        const { type, function: described } = tool.definition;
        tools.set(name, { ...tool, definition: { type, function: { ...described, name } } });
      }
    } catch (error) {
      await closeAll(clients);
      throw error;
    }
    return new ToolBox(tools, clients, context);
  }

  private constructor(tools: ReadonlyMap<string, Tool>, clients: readonly MCPClient[], context: ToolsContext) {
    this.#tools = tools;
    this.#clients = clients;
    this.#context = context;
  }

  get definitions(): readonly ToolDefinition[] {
    const ofServers = [...this.#tools.values()].map(({ definition }) => definition);
    const { granted } = this.#context;
    return granted === undefined ? ofServers : [...ofServers, ownDefinition(granted)];
  }

  /** Carries out a call if the rights allow it; resolves with the text for the model, also when it failed. */
  async call({ name, arguments: written }: ToolCall): Promise<string> {
    const { rights, granted } = this.#context;
    const tool = this.#tools.get(name);
    if (tool === undefined && granted !== undefined && name === ownDefinition(granted).function.name) {
      return useOwn(granted, written);
    }
    if (tool === undefined) return `There is no tool ${JSON.stringify(name.slice(0, 100))}.`;
    const id = `${tool.server}.${tool.name}`;
    const verdict = await rights.judge({
      tool: id,
      title: id,
      input: written,
      kind: tool.isReadOnly ? "read" : "other",
    });
    if (!verdict.allowed) return `Denied: ${verdict.why}.`;
    const said = (await this.#carryOut(tool, written)).slice(0, MAX_RESULT_CHARS).toWellFormed();
    rights.called({ title: id, input: written }, said);
    const { text, counts: hidden } = partsOfJson(said);
    return wrapUntrusted(text, { source: `Tool ${id}` }, { hidden });
  }

  async close(): Promise<void> {
    await closeAll(this.#clients);
  }

  async #carryOut({ client, name }: Tool, written: string): Promise<string> {
    try {
      const args: unknown = written.trim() === "" ? {} : JSON.parse(written);
      if (typeof args !== "object" || args === null || Array.isArray(args))
        return "Failed: the arguments are no object.";
      const result = await client.callTool({
        name,
        arguments: args as Record<string, unknown>,
        options: { signal: this.#context.signal, timeout: CALL_MS },
      });
      return textOf(result);
    } catch (error) {
      return `Failed: ${reasonOf(error)}`;
    }
  }
}

function ownDefinition({ tool }: GrantedTool): ToolDefinition {
  const { name, description, input } = tool;
  return toolDefinition(GATEWAY_SERVER, { name, description, inputSchema: input });
}

async function useOwn(granted: GrantedTool, written: string): Promise<string> {
  const input = parsed(written);
  if (input === undefined) return "Failed: the arguments are no JSON.";
  const answer = await useTool(granted, input);
  return "problem" in answer ? `Failed: ${answer.problem}` : JSON.stringify(answer.result);
}

function parsed(written: string): unknown {
  try {
    return JSON.parse(written);
  } catch {
    return undefined;
  }
}

async function closeAll(clients: readonly MCPClient[]): Promise<void> {
  await Promise.allSettled(clients.map((client) => client.close()));
}

async function connect(name: string, server: ToolServer, context: ToolsContext): Promise<MCPClient> {
  // Only agents with tools pay for the library.
  const { createMCPClient } = await import("@ai-sdk/mcp");
  const transport =
    "url" in server
      ? { type: "http" as const, url: server.url, headers: { ...server.headers }, fetch: boundedFetch }
      : new ProgramTransport(context.startOf(name, server.program));
  try {
    return await createMCPClient({
      name: "reveille",
      transport,
      // A call may have taken effect although its answer was lost.
      maxRetries: 0,
      initializationOptions: { signal: context.signal, timeout: CONNECT_MS },
    });
  } catch (error) {
    const said = transport instanceof ProgramTransport ? await transport.problem() : "";
    throw unusable(name, said === "" ? reasonOf(error) : said);
  }
}

async function toolsOf(client: MCPClient, server: string, signal: AbortSignal): Promise<Tool[]> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page++) {
    const params = cursor === undefined ? {} : { params: { cursor } };
    const options = { signal, timeout: CONNECT_MS };
    const listed = await client.listTools({ ...params, options }).catch((error: unknown) => {
      throw unusable(server, reasonOf(error));
    });
    for (const { name, description, inputSchema, annotations } of listed.tools.slice(0, MAX_TOOLS - tools.length)) {
      if (name.length > MAX_NAME_CHARS) continue;
      const definition = toolDefinition(server, { name, description, inputSchema });
      tools.push({ client, server, name, isReadOnly: annotations?.readOnlyHint === true, definition });
    }
    cursor = listed.nextCursor;
    if (cursor === undefined) break;
  }
  return tools;
}

/** The texts of a result; what is no text is named. */
function textOf(result: Awaited<ReturnType<MCPClient["callTool"]>>): string {
  const content = "content" in result && Array.isArray(result.content) ? (result.content as readonly unknown[]) : [];
  const texts = content.map((part) => {
    const { type, text } = part as { readonly type?: unknown; readonly text?: unknown };
    return typeof text === "string" ? text : `[${String(type)}]`;
  });
  const whole = texts.length > 0 ? texts.join("\n") : JSON.stringify(result);
  return "isError" in result && result.isError === true ? `Failed: ${whole}` : whole;
}

function unusable(server: string, reason: string): ToolServerError {
  const why = reason.slice(0, MAX_REASON_CHARS).toWellFormed();
  return new ToolServerError(`The tool server ${JSON.stringify(server)} could not be used: ${why}`);
}
