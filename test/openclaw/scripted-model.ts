import type { ServerResponse } from "node:http";
import { streamChat } from "../conformance/host/chat-stream.ts";
import { LoopbackServer } from "../conformance/host/loopback-server.ts";
import type { LoopbackRequest } from "../conformance/host/loopback-server.ts";
import { said } from "./model-proxy.ts";

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

  protected async answer({ body }: LoopbackRequest, res: ServerResponse): Promise<void> {
    const { messages } = JSON.parse(body) as { messages: { role: string; content: unknown }[] };
    const prompt = said(messages);
    const session = /\bsession=(\S+)/.exec(body)?.[1] ?? "";
    this.calls.push({ session, prompt });
    await this.hold;
    const word = /\[say ([^\]]+)\]/.exec(prompt)?.[1];
    streamChat(res, word === undefined || session.endsWith(":main") ? "NO_REPLY" : `Done: ${word}`);
  }
}
