/** A real HTTP server that a webhook channel posts to. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface ReceivedPost {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export class WebhookReceiver implements AsyncDisposable {
  readonly posts: ReceivedPost[] = [];
  /** How many answers ended because the client went away. */
  abandoned = 0;
  /** Answers every post; may be replaced. */
  answer: (res: ServerResponse) => void = (res) => {
    res.writeHead(204).end();
  };
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((req, res) => {
      void text(req).then((body) => {
        const { method, url, headers } = req;
        this.posts.push({ method, url, headers, body });
        res.on("close", () => {
          if (!res.writableFinished) this.abandoned += 1;
        });
        this.answer(res);
      });
    });
  }

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    receiver.#server.listen(0, "127.0.0.1");
    await once(receiver.#server, "listening");
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/inbox?team=ops`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
