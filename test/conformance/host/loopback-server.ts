import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request, read to its end. */
export interface LoopbackRequest {
  readonly method: string;
  /** As sent, with the query. */
  readonly url: string;
  readonly body: string;
}

/** A server on a free port of loopback; what extends it gives the answers. */
export abstract class LoopbackServer {
  /** Never ends a connection that is idle: what its client sends in that moment would fail. */
  readonly #server = createServer({ keepAliveTimeout: 0 }, (req, res) => {
    // A caller whose answer fails must not wait for it.
    this.#take(req, res).catch(() => res.destroy());
  });

  /** Resolves with itself once it takes requests. */
  async listen(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  /** Without a path. */
  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Ends every connection as well. */
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  protected abstract answer(request: LoopbackRequest, res: ServerResponse): void | Promise<void>;

  async #take(req: IncomingMessage, res: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of req.setEncoding("utf8")) body += String(chunk);
    await this.answer({ method: req.method ?? "", url: req.url ?? "", body }, res);
  }
}
