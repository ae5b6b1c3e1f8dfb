import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
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
export class ScriptedModel {
  readonly #server: Server;
  readonly calls: ModelCall[] = [];
  /** Answers wait for this. */
  hold: Promise<void> = Promise.resolve();

  static async start(): Promise<ScriptedModel> {
    const model = new ScriptedModel();
    model.#server.listen(0, "127.0.0.1");
    await once(model.#server, "listening");
    return model;
  }

  private constructor() {
    this.#server = createServer((req, res) => void this.#answer(req, res));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** Calls whose prompt holds the text. */
  callsWith(text: string): readonly ModelCall[] {
    return this.calls.filter(({ prompt }) => prompt.includes(text));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of req) body += String(chunk);
    const { messages } = JSON.parse(body) as { messages: { role: string; content: unknown }[] };
    const prompt = said(messages);
    const session = /\bsession=(\S+)/.exec(body)?.[1] ?? "";
    this.calls.push({ session, prompt });
    await this.hold;
    const word = /\[say ([^\]]+)\]/.exec(prompt)?.[1];
    const content = word === undefined || session.endsWith(":main") ? "NO_REPLY" : `Done: ${word}`;
    const common = { id: "c1", created: 1, model: "m", object: "chat.completion.chunk" };
    res.writeHead(200, { "content-type": "text/event-stream" });
    for (const choice of [
      { index: 0, delta: { role: "assistant", content }, finish_reason: null },
      { index: 0, delta: {}, finish_reason: "stop" },
    ]) {
      res.write(`data: ${JSON.stringify({ ...common, choices: [choice] })}\n\n`);
    }
    res.end("data: [DONE]\n\n");
  }
}
