import type { ServerResponse } from "node:http";
import { streamChat } from "../conformance/host/chat-stream.ts";
import { LoopbackServer } from "../conformance/host/loopback-server.ts";
import type { LoopbackRequest } from "../conformance/host/loopback-server.ts";
import { said, sessionOf } from "./model-proxy.ts";

export interface ModelCall {
  /** The host's session that made it. */
  readonly session: string;
  readonly prompt: string;
}

/**
 * An OpenAI-compatible endpoint that says `Done: <word>` to a prompt with `[say <word>]`, waits before it
 * for as long as `hold` says, and has nothing to say otherwise.
 */
export class ScriptedModel extends LoopbackServer {
  readonly calls: ModelCall[] = [];
  /** Answers wait for this. */
  hold: Promise<void> = Promise.resolve();

  static start(): Promise<ScriptedModel> {
    return new ScriptedModel().listen();
  }

  get url(): string {
    return `${this.origin}/v1`;
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
    const { messages } = JSON.parse(body) as { messages: { role: string; content: unknown }[] };
    const prompt = said(messages);
    const session = sessionOf(body) ?? "";
    this.calls.push({ session, prompt });
    await this.hold;
    const word = wordOf(prompt);
    streamChat(res, word === undefined || session.endsWith(":main") ? "NO_REPLY" : `Done: ${word}`);
  }
}

/** What a prompt asks a scripted model to say. */
export function wordOf(prompt: string): string | undefined {
  return /\[say ([^\]]+)\]/.exec(prompt)?.[1];
}
