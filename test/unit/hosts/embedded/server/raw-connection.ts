import { connect } from "node:net";
import type { Socket } from "node:net";
import { once } from "node:events";

/** A plain TCP connection for requests that no HTTP client would send. */
export class RawConnection {
  readonly #socket: Socket;
  #received = "";
  #ended = false;

  static async open(port: number, options: { allowHalfOpen?: boolean } = {}): Promise<RawConnection> {
    const socket = connect({ host: "127.0.0.1", port, ...options });
    await once(socket, "connect");
    return new RawConnection(socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      this.#received += chunk;
      this.#socket.emit("progress");
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#ended = true;
      this.#socket.emit("progress");
    });
  }

  get received(): string {
    return this.#received;
  }

  get ended(): boolean {
    return this.#ended;
  }

  send(text: string): void {
    this.#socket.write(text);
  }

  /** Closes this side; with `allowHalfOpen` answers still arrive. */
  end(): void {
    this.#socket.end();
  }

  /** Resolves with everything received once that many whole answers with a JSON body are there. */
  async answers(count: number): Promise<string> {
    return await this.until(
      () => (this.#received.match(/HTTP\/1\.1 [2-5]\d\d/gu) ?? []).length >= count && this.#received.endsWith("}"),
    );
  }

  async untilEnd(): Promise<string> {
    return await this.until(() => this.#ended);
  }

  async until(done: () => boolean): Promise<string> {
    while (!done()) {
      if (this.#ended) throw new Error(`The connection ended after: ${this.#received}`);
      await new Promise((resolve) => this.#socket.once("progress", resolve));
    }
    return this.#received;
  }

  destroy(): void {
    this.#socket.destroy();
  }
}
