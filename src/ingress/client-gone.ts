import type { Socket } from "node:net";

type Listener = () => void;

const listenersOf = new WeakMap<Socket, Set<Listener>>();

/**
 * Calls `listener` when the client closes its side of the connection or the connection closes, or at once when
 * that has happened; the returned function removes the listener. All requests of one connection share the listeners
 * on the socket.
 *
 * A client that has gone and one that only sends no more look alike until an answer is written: for both, a wait
 * ends and the usual answer is sent, which only the second one reads.
 */
export function onClientGone(socket: Socket, listener: Listener): () => void {
  if (socket.destroyed || socket.readableEnded) {
    listener();
    return () => {};
  }
  const listeners = listenersOf.get(socket) ?? listen(socket);
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function listen(socket: Socket): Set<Listener> {
  const listeners = new Set<Listener>();
  listenersOf.set(socket, listeners);
  const notify = (): void => {
    for (const listener of listeners) listener();
    listeners.clear();
  };
  socket.once("end", notify);
  socket.once("close", notify);
  return listeners;
}
