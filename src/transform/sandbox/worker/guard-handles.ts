import { Socket } from "node:net";

const STDERR = 2;
/** Of what Node has below a `net.Socket`; nothing in a sandbox process opens, connects or listens. */
const METHODS = ["open", "connect", "bind", "listen", "fchmod"];

/**
 * Keeps modules from the process's open files by way of the event loop: nothing can be made a stream by its
 * number any more, however someone comes by a handle of a pipe. Throws where stderr is no pipe. Not to be undone.
 */
export function guardHandles(): void {
  // The one way to such a handle that the permission model leaves; the channel itself would stop to block by it.
  const options = { fd: STDERR, manualStart: true };
  const handle: unknown = Reflect.get(new Socket(options), "_handle");
  if (typeof handle !== "object" || handle === null) throw new Error("stderr of a sandbox process has to be a pipe");
  const setBlocking: unknown = Reflect.get(handle, "setBlocking");
  if (typeof setBlocking === "function") Reflect.apply(setBlocking, handle, [true]);
  const native = Reflect.getPrototypeOf(handle) ?? handle;
  for (const name of METHODS) {
    if (typeof Reflect.get(native, name) !== "function") throw new Error(`a pipe of this Node has no ${name}()`);
    const value = (): never => {
      throw new Error(`a stream of an open file or a connection (${name}) is not there for transforms`);
    };
    Object.defineProperty(native, name, { value, writable: false, configurable: false });
  }
}
