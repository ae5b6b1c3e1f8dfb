import type { ServerResponse } from "node:http";
import { streamChat, streamToolCall, type ToolCall } from "../conformance/host/chat-stream.ts";
import { LoopbackServer } from "../conformance/host/loopback-server.ts";
import type { LoopbackRequest } from "../conformance/host/loopback-server.ts";
import { delegation, wordOfChild } from "./delegation.ts";
import type { ChatRequest } from "./delegation.ts";
import { said, sessionOf } from "./model-proxy.ts";

export interface ModelCall {
  /** The host's session that made it. */
  readonly session: string;
  readonly prompt: string;
  /** Everything that the model was given, as JSON. */
  readonly conversation: string;
  /** What tools have answered in the turn so far, as JSON. */
  readonly results: string;
  /** True once the host has gone without an answer. */
  isGivenUp: boolean;
}

/** Answers that are held back. */
interface Hold {
  readonly text: string;
  readonly released: Promise<void>;
}

/**
 * An OpenAI-compatible endpoint that says `Done: <word>` to a prompt with `[say <word>]`, waits before it
 * for as long as it is held, delegates when it is told to, and has nothing to say otherwise.
 */
export class ScriptedModel extends LoopbackServer {
  readonly calls: ModelCall[] = [];
  #hold: Hold | undefined;

  static start(): Promise<ScriptedModel> {
    return new ScriptedModel().listen();
  }

  get url(): string {
    return `${this.origin}/v1`;
  }

  /** Holds the answers to prompts with the text back, until the function is called. */
  hold(text = ""): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#hold = { text, released: promise };
    return () => {
      this.#hold = undefined;
      resolve();
    };
  }

  /** Calls whose prompt holds the text. */
  callsWith(text: string): readonly ModelCall[] {
    return this.calls.filter(({ prompt }) => prompt.includes(text));
  }

  protected async answer({ method, body }: LoopbackRequest, res: ServerResponse): Promise<void> {
    // The host also asks what models there are.
    if (method !== "POST") {
      res.writeHead(404).end();
      return;
    }
    const request = JSON.parse(body) as ChatRequest;
    const prompt = said(request.messages);
    const session = sessionOf(body) ?? "";
    const results = JSON.stringify(request.messages.filter(({ role }) => role === "tool"));
    const made = { session, prompt, conversation: JSON.stringify(request.messages), results, isGivenUp: false };
    this.calls.push(made);
    res.on("close", () => (made.isGivenUp = !res.writableFinished));
    if (this.#hold !== undefined && prompt.includes(this.#hold.text)) await this.#hold.released;
    const isMain = session.endsWith(":main");
    const call = toolCall(request) ?? (isMain ? undefined : delegation(request));
    if (call !== undefined) {
      streamToolCall(res, call);
      return;
    }
    const child = wordOfChild(prompt);
    const word = child === undefined ? wordOf(prompt) : `the child said ${child}`;
    streamChat(res, word === undefined || isMain ? "NO_REPLY" : `Done: ${word}`);
  }
}

/** The call of a tool that stands in the catalog, for a prompt with `[use <tool> <json>]`. */
function toolCall({ messages }: ChatRequest): ToolCall | undefined {
  const [, id, args] = /\[use (\w+) (\{[^}]*\})\]/.exec(said(messages)) ?? [];
  return id === undefined ? undefined : { tool: "tool_call", args: { id, args: JSON.parse(args ?? "{}") as object } };
}

/** What a prompt asks a scripted model to say. */
export function wordOf(prompt: string): string | undefined {
  return /\[say ([^\]]+)\]/.exec(prompt)?.[1];
}
