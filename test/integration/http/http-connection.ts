import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";

/** One answer as it came over the wire. */
export interface WireAnswer {
  readonly status: number;
  /** Lower-case names; the last of repeated ones. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Everything but the `Date` header, byte for byte. */
  readonly raw: string;
}

const HEAD_END = "\r\n\r\n";

/** A TCP connection on which a test writes bytes as it likes and reads answers one after the other. */
export class HttpConnection {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #isClosed = false;
  #hasHeadAnswers = false;

  static async open(port: number): Promise<HttpConnection> {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true, allowHalfOpen: true });
    await once(socket, "connect");
    return new HttpConnection(socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      socket.emit("progress");
    });
    // A reset is seen as a connection that closed.
    socket.on("error", () => {});
    for (const event of ["end", "close"]) {
      socket.on(event, () => {
        this.#isClosed = true;
        socket.emit("progress");
      });
    }
  }

  /** True once the server has closed its side. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** True when bytes have come that no answer was made of yet. */
  get hasUnread(): boolean {
    return this.#received.length > 0;
  }

  send(bytes: string | Buffer): void {
    this.#socket.write(bytes);
  }

  /** Resolves when what was sent has left this process and the server has had its turn to read it. */
  async flushed(): Promise<void> {
    await new Promise((resolve) => this.#socket.write("", resolve));
    await sleep(20);
    // When the process was kept waiting, that time may be over before the server's turn.
    for (let turn = 0; turn < 5; turn++) await nextTurn();
  }

  /** Closes this side; the server may still answer. */
  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** From now on answers are to HEAD requests: they declare a length and have no content. */
  expectHeadAnswers(): void {
    this.#hasHeadAnswers = true;
  }

  /** The next answer, `100 Continue` included; rejects when the connection closes without one. */
  async answer(): Promise<WireAnswer> {
    for (;;) {
      const answer = this.#take();
      if (answer) return answer;
      if (this.#isClosed)
        throw new Error(`The connection closed; unread: ${JSON.stringify(this.#received.toString("latin1"))}`);
      await once(this.#socket, "progress");
    }
  }

  async answers(count: number): Promise<WireAnswer[]> {
    const answers: WireAnswer[] = [];
    while (answers.length < count) answers.push(await this.answer());
    return answers;
  }

  /** Every answer until the server closes. */
  async untilClosed(): Promise<WireAnswer[]> {
    while (!this.#isClosed) await once(this.#socket, "progress");
    const answers: WireAnswer[] = [];
    for (let answer = this.#take(); answer; answer = this.#take()) answers.push(answer);
    return answers;
  }

  #take(): WireAnswer | undefined {
    const headEnd = this.#received.indexOf(HEAD_END);
    if (headEnd === -1) return undefined;
    const head = this.#received.toString("latin1", 0, headEnd);
    const [statusLine = "", ...lines] = head.split("\r\n");
    const headers: Record<string, string> = {};
    for (const line of lines) {
      const colon = line.indexOf(":");
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
    }
    const start = headEnd + HEAD_END.length;
    const end = this.#contentEnd(start, headers);
    if (end === undefined || this.#received.length < end) return undefined;
    const text = this.#received.toString("utf8", start, end);
    this.#received = this.#received.subarray(end);
    const kept = [statusLine, ...lines.filter((line) => !line.toLowerCase().startsWith("date:"))];
    return { status: Number(statusLine.split(" ")[1]), headers, text, raw: kept.join("\r\n") + HEAD_END + text };
  }

  /** The gateway declares every length; only what Node answers by itself is chunked, and empty. */
  #contentEnd(start: number, headers: WireAnswer["headers"]): number | undefined {
    if (this.#hasHeadAnswers) return start;
    if (headers["transfer-encoding"] === undefined) return start + Number(headers["content-length"] ?? 0);
    const last = this.#received.indexOf("0\r\n\r\n", start);
    return last === -1 ? undefined : last + 5;
  }
}

export interface WireRequest {
  readonly method?: string;
  readonly target?: string;
  /** Whole header lines, as they are to be sent. */
  readonly headers?: readonly string[];
  /** Its length is declared unless the headers say how long it is. */
  readonly body?: string | Buffer;
}

/** The bytes of a request; `Host` is added, and nothing else that is not asked for. */
export function wireRequest({ method = "POST", target = "/hooks/wake", headers = [], body }: WireRequest): Buffer {
  const content = body === undefined ? Buffer.alloc(0) : Buffer.from(body);
  const isFramed = headers.some((line) => /^(?:content-length|transfer-encoding):/i.test(line));
  const framing = isFramed || body === undefined ? [] : [`Content-Length: ${content.length}`];
  const lines = [`${method} ${target} HTTP/1.1`, "Host: gateway.test", ...headers, ...framing, "", ""];
  return Buffer.concat([Buffer.from(lines.join("\r\n"), "latin1"), content]);
}

/** A body in chunks of the given sizes; the last takes the rest. */
export function chunked(
  body: string | Buffer,
  options: { sizes?: readonly number[]; trailers?: readonly string[] } = {},
): Buffer {
  const content = Buffer.from(body);
  const parts: Buffer[] = [];
  let start = 0;
  for (const size of [...(options.sizes ?? []), content.length]) {
    const chunk = content.subarray(start, start + size);
    start += chunk.length;
    if (chunk.length > 0) parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n"));
  }
  parts.push(Buffer.from(["0", ...(options.trailers ?? []), "", ""].join("\r\n")));
  return Buffer.concat(parts);
}
