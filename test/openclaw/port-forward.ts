import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";

/** A port of its own in front of another, byte for byte; closing it ends every connection. */
export class PortForward {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  static async start(port: number): Promise<PortForward> {
    const forward = new PortForward(port);
    forward.#server.listen(0, "127.0.0.1");
    await once(forward.#server, "listening");
    return forward;
  }

  private constructor(port: number) {
    this.#server = createServer((caller) => {
      const target = connect(port, "127.0.0.1");
      for (const [from, to] of [
        [caller, target],
        [target, caller],
      ] as const) {
        this.#sockets.add(from);
        from.on("error", () => to.destroy());
        from.on("close", () => {
          this.#sockets.delete(from);
          to.destroy();
        });
        from.pipe(to);
      }
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, "close");
  }
}
