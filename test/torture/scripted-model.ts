import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/** One question that was put to the model. */
export interface ModelCall {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The text of the last message. */
  readonly prompt: string;
  /** True for a turn of a session, false for an isolated run. */
  readonly isTurn: boolean;
}

/** What the model does with a call; by default it answers 200 with `NO_REPLY` at once. */
export interface ModelReaction {
  readonly reply?: string;
  readonly status?: number;
  readonly delayMs?: number;
}

/** An OpenAI-compatible endpoint on loopback that answers as a script says; it outlives gateways. */
export class ScriptedModel {
  readonly calls: ModelCall[] = [];
  /** The most calls that were in progress at once. */
  maxAtOnce = 0;
  readonly #server: Server;
  readonly #script: (call: ModelCall) => ModelReaction | Promise<ModelReaction>;
  #atOnce = 0;

  private constructor(script: (call: ModelCall) => ModelReaction | Promise<ModelReaction>) {
    this.#script = script;
    this.#server = createServer((req, res) => void this.#answer(req, res));
  }

  static async listen(
    script: (call: ModelCall) => ModelReaction | Promise<ModelReaction> = () => ({}),
  ): Promise<ScriptedModel> {
    const model = new ScriptedModel(script);
    await new Promise<void>((resolve) => model.#server.listen(0, "127.0.0.1", resolve));
    return model;
  }

  /** Sections of a gateway's configuration that make this the model of every agent. */
  get config(): { readonly agents: object; readonly models: object } {
    const address = this.#server.address();
    const baseUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/v1`;
    return {
      agents: { defaults: { model: "test/model", heartbeat: { every: "0m" } } },
      models: { providers: { test: { baseUrl } } },
    };
  }

  /** Prompts of isolated runs in order of arrival. */
  get runPrompts(): string[] {
    return this.calls.filter(({ isTurn }) => !isTurn).map(({ prompt }) => prompt);
  }

  /** How many connections are open. */
  connections(): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    return promise;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    res.on("error", () => {});
    this.#atOnce++;
    this.maxAtOnce = Math.max(this.maxAtOnce, this.#atOnce);
    try {
      const call = await readCall(req);
      this.calls.push(call);
      const { reply = "NO_REPLY", status = 200, delayMs = 0 } = await this.#script(call);
      if (delayMs > 0) await sleep(delayMs);
      if (status === 200) answerStream(res, reply);
      else res.writeHead(status, { "content-type": "application/json" }).end('{"error":{"message":"not now"}}');
    } catch {
      // The gateway was killed while it asked.
      res.destroy();
    } finally {
      this.#atOnce--;
    }
  }
}

interface ChatRequest {
  readonly messages: readonly { readonly content: unknown }[];
}

async function readCall(req: IncomingMessage): Promise<ModelCall> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  const { messages } = JSON.parse(Buffer.concat(chunks).toString()) as ChatRequest;
  const content = messages.at(-1)?.content;
  const prompt = typeof content === "string" ? content : JSON.stringify(content);
  return { at: Date.now(), prompt, isTurn: !prompt.includes("This run is unattended") };
}

function answerStream(res: ServerResponse, reply: string): void {
  const part = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "model" };
  const choice = (delta: object, reason: string | null): string =>
    `data: ${JSON.stringify({ ...part, choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
  res.writeHead(200, { "content-type": "text/event-stream" });
  res.end(`${choice({ role: "assistant", content: reply }, null)}${choice({}, "stop")}data: [DONE]\n\n`);
}
