import type { ServerResponse } from "node:http";
import { streamChat } from "./chat-stream.ts";
import { LoopbackServer } from "./loopback-server.ts";
import type { LoopbackRequest } from "./loopback-server.ts";

/** The model's reply to a prompt that asks for nothing else. */
export const REPLY_PREFIX = "Reply to: ";

/**
 * An OpenAI-compatible endpoint on loopback. What the last user message holds decides: `[hang]` never
 * answers, `[fail]` answers 400, `[busy]` answers 503, `[quiet]` answers HEARTBEAT_OK; anything else is
 * repeated.
 */
export class ModelServer extends LoopbackServer {
  /** The last user message of every call, in order. */
  readonly prompts: string[] = [];
  /** All that the model was given with each of them: the system prompt and the conversation, as JSON. */
  readonly conversations: string[] = [];

  static start(): Promise<ModelServer> {
    return new ModelServer().listen();
  }

  /** The base URL for a provider's configuration. */
  get url(): string {
    return `${this.origin}/v1`;
  }

  /** Those that hold the text. What an earlier test has begun may ask even after that test has ended it. */
  promptsWith(text: string): readonly string[] {
    return this.prompts.filter((prompt) => prompt.includes(text));
  }

  protected answer({ body }: LoopbackRequest, res: ServerResponse): void {
    const { messages, stream } = JSON.parse(body) as {
      messages: { role: string; content: unknown }[];
      stream?: boolean;
    };
    const prompt = textOf(messages.findLast(({ role }) => role === "user")?.content);
    this.prompts.push(prompt);
    this.conversations.push(JSON.stringify(messages));
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
  if (stream) return streamChat(res, content);
  res.writeHead(200, { "Content-Type": "application/json" });
  const choices = [{ index: 0, finish_reason: "stop", message: { role: "assistant", content } }];
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  res.end(JSON.stringify({ id: "c1", created: 1, model: "m", object: "chat.completion", choices, usage }));
}
