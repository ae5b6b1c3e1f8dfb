import type { Socket } from "node:net";

type Listener = () => void;

const listenersOf = new WeakMap<Socket, Set<Listener>>();

/**
 * Calls `listener` when the client's connection closes, or at once when it has; the returned function
 * removes the listener. All requests of one connection share one listener on the socket.
 */
export function onClientGone(socket: Socket, listener: Listener): () => void {
  if (socket.destroyed) {
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
  socket.once("close", () => {
    for (const listener of listeners) listener();
  });
  return listeners;
}
