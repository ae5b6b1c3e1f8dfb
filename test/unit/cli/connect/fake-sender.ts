import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface SeenCall {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  /** As it was sent. */
  readonly body: string;
}

export interface FakeAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; a string as it is. */
  readonly body?: unknown;
}

/** The API of a sender on a socket of this machine. */
export class FakeSender {
  readonly calls: SeenCall[] = [];
  /** In the place of the next answers. */
  readonly instead: (FakeAnswer | "nothing")[] = [];
  readonly #server = createServer((req, res) => void this.#serve(req, res));
  readonly #answer: (call: SeenCall) => FakeAnswer | Promise<FakeAnswer>;

  constructor(answer: (call: SeenCall) => FakeAnswer | Promise<FakeAnswer>) {
    this.#answer = answer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** `POST /repos/acme/web/hooks` and so on, in their order. */
  get lines(): readonly string[] {
    return this.calls.map(({ method, path }) => `${method} ${path}`);
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, "127.0.0.1", resolve);
    });
    return this;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk);
    const { pathname, searchParams } = new URL(req.url ?? "/", "http://fake");
    const call = {
      method: req.method ?? "",
      path: pathname,
      query: searchParams,
      headers: req.headers,
      body: Buffer.concat(chunks).toString("utf8"),
    };
    this.calls.push(call);
    const answer = this.instead.shift() ?? (await this.#answer(call));
    if (answer === "nothing") return;
    const { status, headers = {}, body } = answer;
    const text = typeof body === "string" ? body : body === undefined ? "" : JSON.stringify(body);
    res.writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers });
    res.end(text);
  }
}
