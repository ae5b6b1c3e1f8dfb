/** The tools of a model: servers of the Model Context Protocol, connected for one turn. */
import { createInterface } from "node:readline";
import type { MCPClient, MCPTransport } from "@ai-sdk/mcp";
import { wrapUntrusted } from "../../../core/boundary/wrap-untrusted.ts";
import { reasonOf } from "../../../core/reason-of.ts";
import { Output, Program, type ProgramStart } from "../programs/program.ts";
import type { ProgramConfig } from "../config/runtime.ts";
import type { ToolsConfig, ToolServer } from "../config/tools.ts";
import { isTool } from "./permissions.ts";
import type { RunRights } from "./run-rights.ts";
import { type ToolDefinition, toolDefinition, unusedName } from "./tool-definition.ts";

/** A call that a model asks for. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
}

export interface ToolsContext {
  readonly rights: RunRights;
  readonly signal: AbortSignal;
  /** How a server that is a program is started. */
  readonly startOf: (name: string, program: ProgramConfig) => ProgramStart;
}

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
const MAX_STDERR_BYTES = 2_000;
/** A longer line of a server that is a program ends it. */
const MAX_LINE_CHARS = 16_777_216;

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
      const listed = await Promise.all(
        [...config.servers].map(async ([name, server]) => {
          const client = await connect(name, server, context);
          clients.push(client);
          const all = await toolsOf(client, name, context.signal);
          return all.filter((tool) => config.allow.some((pattern) => isTool(pattern, `${name}.${tool.name}`)));
        }),
      );
      for (const tool of listed.flat()) {
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
    return [...this.#tools.values()].map(({ definition }) => definition);
  }

  /** Carries out a call if the rights allow it; resolves with the text for the model, also when it failed. */
  async call({ name, arguments: written }: ToolCall): Promise<string> {
    const { rights } = this.#context;
    const tool = this.#tools.get(name);
    if (tool === undefined) return `There is no tool ${JSON.stringify(name.slice(0, 100))}.`;
    const id = `${tool.server}.${tool.name}`;
    const verdict = await rights.judge({
      tool: id,
      title: id,
      input: written,
      kind: tool.isReadOnly ? "read" : "other",
    });
    if (!verdict.allowed) return `Denied: ${verdict.why}.`;
    const said = await this.#carryOut(tool, written);
    rights.called({ title: id, input: written }, said);
    return wrapUntrusted(said.slice(0, MAX_RESULT_CHARS).toWellFormed(), { source: `Tool ${id}` });
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

async function closeAll(clients: readonly MCPClient[]): Promise<void> {
  await Promise.allSettled(clients.map((client) => client.close()));
}

async function connect(name: string, server: ToolServer, context: ToolsContext): Promise<MCPClient> {
  // Only agents with tools pay for the library.
  const { createMCPClient } = await import("@ai-sdk/mcp");
  const transport =
    "url" in server
      ? { type: "http" as const, url: server.url, headers: { ...server.headers } }
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
    throw new ToolServerError(
      `The tool server ${JSON.stringify(name)} could not be used: ${said === "" ? reasonOf(error) : said}`,
    );
  }
}

async function toolsOf(client: MCPClient, server: string, signal: AbortSignal): Promise<Tool[]> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page++) {
    const params = cursor === undefined ? {} : { params: { cursor } };
    const listed = await client.listTools({ ...params, options: { signal, timeout: CONNECT_MS } });
    for (const { name, description, inputSchema, annotations } of listed.tools.slice(0, MAX_TOOLS - tools.length)) {
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

/** JSON lines over the standard streams of a program. */
class ProgramTransport implements MCPTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: MCPTransport["onmessage"];
  readonly #start: ProgramStart;
  #program: Program | undefined;
  #stderr: Output | undefined;
  #problem: Error | undefined;

  constructor(start: ProgramStart) {
    this.#start = start;
  }

  async start(): Promise<void> {
    try {
      this.#program = await Program.start(this.#start);
    } catch (error) {
      this.#problem = error as Error;
      throw error;
    }
    const { stdout, stderr, ended } = this.#program;
    this.#stderr = new Output(stderr, MAX_STDERR_BYTES);
    let pending = 0;
    stdout.on("data", (chunk: Buffer) => {
      pending = chunk.includes(0x0a) ? chunk.length - chunk.lastIndexOf(0x0a) : pending + chunk.length;
      if (pending > MAX_LINE_CHARS) void this.close();
    });
    createInterface({ input: stdout }).on("line", (line) => this.#take(line));
    void ended.then(
      ({ code, killedBy }) => this.#end(new Error(`it ended with ${killedBy ?? `status ${code}`}`)),
      (error: Error) => this.#end(error),
    );
  }

  send(message: object): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (error?: Error | null): void => (error ? reject(error) : resolve());
      this.#program?.stdin.write(`${JSON.stringify(message)}\n`, done);
    });
  }

  async close(): Promise<void> {
    await this.#program?.end();
  }

  /** Why it did not start or has ended, with what it said; empty while it runs. */
  async problem(): Promise<string> {
    await this.close();
    await this.#program?.ended.catch(() => undefined);
    const said = this.#stderr?.text.trim() ?? "";
    return this.#problem === undefined ? said : `${this.#problem.message}${said === "" ? "" : `: ${said}`}`;
  }

  #take(line: string): void {
    try {
      this.onmessage?.(JSON.parse(line) as Parameters<NonNullable<MCPTransport["onmessage"]>>[0]);
    } catch {
      // A server that writes its log to standard output.
    }
  }

  #end(error: Error): void {
    this.#problem ??= error;
    this.onerror?.(error);
    this.onclose?.();
  }
}
