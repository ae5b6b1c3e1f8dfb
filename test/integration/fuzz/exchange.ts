import { connect } from "node:net";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { Prng } from "./prng.ts";

export interface ExchangeOptions {
  readonly port: number;
  readonly bytes: Buffer;
  /** Sends the bytes in pieces cut by chance, each in a turn of its own. */
  readonly pieces?: Prng | undefined;
  /** By then the server must have closed the connection. */
  readonly withinMs: number;
  /**
   * Closes this side when nothing has come for that long, since the server then waits for the rest of
   * something. A wait ends then, and its usual answer still comes.
   */
  readonly idleMs?: number | undefined;
  /** True while an answer may still come: then this side stays open, however long it takes. */
  readonly isOwed?: (() => boolean) | undefined;
}

export interface Exchanged {
  /** Of every answer, in order; 100 Continue among them. */
  readonly statuses: readonly number[];
  /** False when the server let the time pass. */
  readonly closed: boolean;
}

/** Of the event loop, in which a server of this process reads and parses what it was sent. */
const TURNS = 5;

/** Opens a connection, sends, and takes whatever comes back until the server closes. */
export async function exchange(options: ExchangeOptions): Promise<Exchanged> {
  const socket = connect({ host: "127.0.0.1", port: options.port, noDelay: true, allowHalfOpen: true });
  const received: Buffer[] = [];
  const { isOwed = () => false } = options;
  const idle = setTimeout(() => void endUnlessOwed(), options.idleMs ?? options.withinMs);
  const endUnlessOwed = async (): Promise<void> => {
    // After a standstill the timer is due before the server has read what was sent.
    const { length } = received;
    for (let turn = 0; turn < TURNS; turn++) await setImmediate();
    if (isOwed() || received.length > length) idle.refresh();
    else socket.end();
  };
  socket.on("data", (chunk: Buffer) => {
    received.push(chunk);
    idle.refresh();
  });
  // A server that has refused may reset what is still being sent.
  socket.on("error", () => {});
  const closed = closedWithin(socket, options.withinMs);
  for (const piece of piecesOf(options)) {
    socket.write(piece);
    if (options.pieces) await setImmediate();
  }
  const isClosed = await closed;
  clearTimeout(idle);
  socket.destroy();
  return { statuses: statusesIn(Buffer.concat(received).toString("latin1")), closed: isClosed };
}

function closedWithin(socket: Socket, withinMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), withinMs);
    for (const event of ["end", "close"]) {
      socket.on(event, () => {
        clearTimeout(timer);
        resolve(true);
      });
    }
  });
}

function piecesOf({ bytes, pieces }: ExchangeOptions): readonly Buffer[] {
  if (!pieces) return [bytes];
  const cut: Buffer[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = start + 1 + pieces.below(Math.max(64, bytes.length / 4));
    cut.push(bytes.subarray(start, end));
    start = end;
  }
  return cut;
}

/** No answer of the gateway holds such a line anywhere but at its beginning. */
function statusesIn(raw: string): number[] {
  return Array.from(raw.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => Number(status));
}
