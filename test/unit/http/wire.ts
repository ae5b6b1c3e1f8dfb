import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, RequestListener, Server, ServerOptions } from "node:http";
import { connect } from "node:net";
import type { AddressInfo, Socket } from "node:net";

/** A server on a free loopback port; `close` ends its connections too. */
export interface Listening {
  readonly port: number;
  readonly server: Server;
  close(): Promise<void>;
}

export async function listen(handler: RequestListener, options: ServerOptions = {}): Promise<Listening> {
  const server = createServer(options, handler);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    server,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

/**
 * A free port that a test may give up and take again: the system gives it to no one who asks for any, as it does with
 * those above 32767.
 */
export async function portToKeep(): Promise<number> {
  for (let port = 20_000 + (process.pid % 10_000); ; port++) {
    const probe = createServer().listen(port, "127.0.0.1");
    const isFree = await once(probe, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    probe.close();
    await once(probe, "close");
    return port;
  }
}

/**
 * Calls the server with `send` and resolves with what `use` makes of the first request's answer; `use` is given the
 * client's end too.
 */
export async function withRequest<T>(
  use: (req: IncomingMessage, client: Socket) => T | Promise<T>,
  send: (socket: Socket) => void,
): Promise<T> {
  const result = Promise.withResolvers<T>();
  const listening = await listen((req, res) => {
    Promise.resolve(use(req, socket)).then(
      (value) => {
        result.resolve(value);
        res.end();
      },
      (error: unknown) => {
        result.reject(error instanceof Error ? error : new Error(String(error)));
        res.end();
      },
    );
  });
  const socket = dial(listening.port);
  send(socket);
  try {
    return await result.promise;
  } finally {
    socket.destroy();
    await listening.close();
  }
}

/** A plain TCP connection; resets are expected by whoever uses it. */
export function dial(port: number): Socket {
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("error", () => undefined);
  return socket;
}

/** Sends bytes as they are and resolves with all that comes back until the server closes. */
export async function exchange(port: number, bytes: string | Buffer): Promise<string> {
  const socket = dial(port);
  socket.write(bytes);
  return receiveAll(socket);
}

/** All that comes from a socket until it closes. */
export async function receiveAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  socket.resume();
  await new Promise((resolve) => {
    socket.on("close", resolve);
  });
  return Buffer.concat(chunks).toString("latin1");
}

/** The status codes of all responses in a raw answer, in order. */
export function statuses(raw: string): number[] {
  return Array.from(raw.matchAll(/HTTP\/1\.1 (\d{3}) /g), (match) => Number(match[1]));
}
