import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

export interface ModelRequest {
  /** When it arrived, on the clock of this process. */
  readonly at: number;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly traceparent: string | undefined;
  readonly body: {
    readonly model: string;
    readonly stream: boolean;
    readonly messages: readonly { readonly role: string; readonly content: unknown }[];
    readonly [field: string]: unknown;
  };
}

/** An OpenAI-compatible endpoint on loopback, at the documented wire format; it outlives gateways. */
export class ModelEndpoint {
  readonly requests: ModelRequest[] = [];
  reply = "The model has read it.";
  /** What it replies to a request for a form. */
  form = "{}";
  delayMs = 0;
  /** Counted for each completion, when it is asked for; `undefined`: not. */
  usage: object | undefined;
  /** While it is set, the endpoint refuses every request so. */
  refusal: { readonly status: number; readonly message: string } | undefined;
  /** Requests whose gateway went away before the answer. */
  aborted = 0;
  #held: Promise<void> | undefined;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((req, res) => void this.#answer(req, res));
  }

  static async listen(): Promise<ModelEndpoint> {
    const endpoint = new ModelEndpoint();
    await new Promise<void>((resolve) => endpoint.#server.listen(0, "127.0.0.1", resolve));
    return endpoint;
  }

  get baseUrl(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/v1`;
  }

  /** Keys of a gateway's file: its agents ask this model, and no heartbeat comes between. */
  get keys(): object {
    return {
      agents: { defaults: { model: "test/model", heartbeat: { every: "0m" } } },
      models: { providers: { test: { baseUrl: this.baseUrl } } },
    };
  }

  /** The text of every prompt that an isolated run or a heartbeat brought, in order of arrival. */
  get prompts(): string[] {
    return this.requests.map(({ body }) => JSON.stringify(body.messages.at(-1)?.content));
  }

  /** What is asked from now on is answered once the function is called. */
  holdBack(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held = promise;
    return () => {
      this.#held = undefined;
      resolve();
    };
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await readBody(req).catch(() => undefined);
    if (body === undefined) {
      // The gateway was killed or stopped while it asked, or the endpoint was closed.
      res.destroy();
      return;
    }
    const { authorization, traceparent } = req.headers;
    this.requests.push({
      at: performance.now(),
      path: req.url ?? "",
      authorization,
      traceparent: traceparent?.toString(),
      body,
    });
    res.once("close", () => {
      if (!res.writableEnded) this.aborted++;
    });
    await this.#held;
    if (this.delayMs > 0) await sleep(this.delayMs);
    if (this.refusal !== undefined) {
      const { status, message } = this.refusal;
      res.writeHead(status, { "content-type": "application/json" });
      res.end(JSON.stringify({ error: { message } }));
      return;
    }
    const part = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: body.model };
    const choice = (delta: object, reason: string | null) => ({
      ...part,
      choices: [{ index: 0, delta, finish_reason: reason }],
    });
    res.writeHead(200, { "content-type": "text/event-stream" });
    const content = isExtraction(body) ? this.form : this.reply;
    const events: object[] = [choice({ role: "assistant", content }, null), choice({}, "stop")];
    const options = body["stream_options"] as { readonly include_usage?: boolean } | undefined;
    if (options?.include_usage === true && this.usage !== undefined) {
      events.push({ ...part, choices: [], usage: this.usage });
    }
    for (const event of events) {
      res.write(`data: ${JSON.stringify(event)}\n\n`);
    }
    res.end("data: [DONE]\n\n");
  }
}

/** True for what asks for a form, and not for an agent's turn. */
export function isExtraction({ messages }: ModelRequest["body"]): boolean {
  const [system] = messages;
  return system?.role === "system" && String(system.content).startsWith("You fill in a form from a text");
}

async function readBody(req: IncomingMessage): Promise<ModelRequest["body"]> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as ModelRequest["body"];
}
