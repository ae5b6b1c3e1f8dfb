/** A real OpenAI-compatible endpoint on loopback that records what it is sent. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface ModelRequest {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: {
    readonly model: string;
    readonly stream: boolean;
    readonly reasoning_effort?: string;
    readonly messages: readonly { readonly role: string; readonly content: string }[];
  };
}

export type ModelBehavior = (res: ServerResponse, request: ModelRequest) => void;

export class ModelServer implements AsyncDisposable {
  readonly requests: ModelRequest[] = [];
  /** How many responses ended because the client went away. */
  abandoned = 0;
  readonly #server: Server;
  readonly #behaviors: ModelBehavior[];

  private constructor(behaviors: ModelBehavior[]) {
    this.#behaviors = behaviors;
    this.#server = createServer((req, res) => {
      void text(req).then((body) => {
        const { method, url, headers } = req;
        const request = { method, url, headers, body: JSON.parse(body) as ModelRequest["body"] };
        this.requests.push(request);
        res.on("close", () => {
          if (!res.writableFinished) this.abandoned += 1;
        });
        const behavior = this.#behaviors.length > 1 ? this.#behaviors.shift() : this.#behaviors[0];
        behavior?.(res, request);
      });
    });
  }

  /** The behaviors answer one request each, the last one all that follow. */
  static async start(behaviors: ModelBehavior[], port = 0): Promise<ModelServer> {
    const started = new ModelServer(behaviors);
    started.#server.listen(port, "127.0.0.1");
    await once(started.#server, "listening");
    return started;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** One event of a stream in OpenAI's shape. */
export function chunk(content: string, finish: string | null = null): string {
  const choices = [{ index: 0, delta: { content }, finish_reason: finish }];
  return `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", choices })}\n\n`;
}

/** Begins a stream and leaves it open. */
export function beginsStream(...parts: string[]): ModelBehavior {
  return (res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.flushHeaders();
    for (const part of parts) res.write(chunk(part));
  };
}

export function streams(...parts: string[]): ModelBehavior {
  return (res) => {
    beginsStream(...parts)(res, {} as ModelRequest);
    res.end(`${chunk("", "stop")}data: [DONE]\n\n`);
  };
}

export function answers(status: number, body: string, headers: Record<string, string> = {}): ModelBehavior {
  return (res) => {
    res.writeHead(status, headers).end(body);
  };
}

/** Sends the same piece for as long as anybody reads. */
export function floods(piece: string): ModelBehavior {
  return (res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    const pour = (): void => {
      while (!res.destroyed && res.write(piece));
    };
    res.on("drain", pour);
    pour();
  };
}
