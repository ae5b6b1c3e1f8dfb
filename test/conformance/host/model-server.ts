import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { once } from "node:events";

/** The model's reply to a prompt that asks for nothing else. */
export const REPLY_PREFIX = "Reply to: ";

/**
 * An OpenAI-compatible endpoint on loopback. What the last user message holds decides: `[hang]` never
 * answers, `[fail]` answers 400, `[busy]` answers 503, `[quiet]` answers HEARTBEAT_OK; anything else is
 * repeated.
 */
export class ModelServer {
  readonly #server: Server;
  /** The last user message of every call, in order. */
  readonly prompts: string[] = [];

  static async start(): Promise<ModelServer> {
    const model = new ModelServer();
    model.#server.listen(0, "127.0.0.1");
    await once(model.#server, "listening");
    return model;
  }

  private constructor() {
    this.#server = createServer((req, res) => {
      void this.#answer(req, res);
    });
  }

  /** The base URL for a provider's configuration. */
  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("The model server is not listening.");
    return `http://127.0.0.1:${address.port}/v1`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of req) body += String(chunk);
    const { messages, stream } = JSON.parse(body) as {
      messages: { role: string; content: unknown }[];
      stream?: boolean;
    };
    const prompt = textOf(messages.findLast(({ role }) => role === "user")?.content);
    this.prompts.push(prompt);
    if (prompt.includes("[hang]")) return;
    if (prompt.includes("[fail]")) {
      res.writeHead(400, { "Content-Type": "application/json" });
      res.end('{"error":{"message":"The model refuses.","type":"invalid_request_error"}}');
      return;
    }
    if (prompt.includes("[busy]")) {
      res.writeHead(503, { "Content-Type": "application/json" });
      res.end('{"error":{"message":"The model is overloaded.","type":"server_error"}}');
      return;
    }
    send(res, prompt.includes("[quiet]") ? "HEARTBEAT_OK" : REPLY_PREFIX + prompt, stream === true);
  }
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? (content as readonly { text?: string }[]) : [];
  return parts.map(({ text }) => text ?? "").join("");
}

function send(res: ServerResponse, content: string, stream: boolean): void {
  const common = { id: "c1", created: 1, model: "m" };
  if (!stream) {
    res.writeHead(200, { "Content-Type": "application/json" });
    const choices = [{ index: 0, finish_reason: "stop", message: { role: "assistant", content } }];
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    res.end(JSON.stringify({ ...common, object: "chat.completion", choices, usage }));
    return;
  }
  res.writeHead(200, { "Content-Type": "text/event-stream" });
  for (const choice of [
    { index: 0, delta: { role: "assistant", content }, finish_reason: null },
    { index: 0, delta: {}, finish_reason: "stop" },
  ]) {
    res.write(`data: ${JSON.stringify({ ...common, object: "chat.completion.chunk", choices: [choice] })}\n\n`);
  }
  res.end("data: [DONE]\n\n");
}
