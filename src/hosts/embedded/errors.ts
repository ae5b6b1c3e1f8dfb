/** Thrown for a plugin that cannot be used; each message names the file and says what to change. */
export class PluginError extends Error {
  override readonly name = "PluginError";
  readonly messages: readonly string[];

  constructor(messages: string | readonly string[], options?: ErrorOptions) {
    const list = typeof messages === "string" ? [messages] : messages;
    super(list.join("\n"), options);
    this.messages = list;
  }
}

/** Thrown for a plugin that loads and does not fit the configuration: it is never set aside. */
export class PluginRefusal extends PluginError {}

/** Why a gateway cannot start, in a sentence for its owner. */
export class StartError extends Error {
  override readonly name: string = "StartError";
}

/** Why the API of a sender did not do what it was asked to do, in words for the owner. */
export class SenderApiError extends Error {
  override readonly name = "SenderApiError";
  /** Of the answer; `undefined`: there was none that can be read. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

/**
 * A store that cannot be opened is a reason for the owner: hooks wrap what their taps throw. It is known by its name,
 * since every command loads this file and none needs a store for it.
 */
export function asStartError(error: unknown): unknown {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === "StoreError") return new StartError(cause.message, { cause: error });
  }
  return error;
}

/** Thrown when the server's address cannot be had. */
export class ListenError extends StartError {
  override readonly name = "ListenError";

  constructor(wanted: { readonly host: string; readonly port: number }, cause: Error) {
    super(listenProblem(wanted, cause), { cause });
  }
}

function listenProblem({ host, port }: { readonly host: string; readonly port: number }, cause: Error): string {
  const code = "code" in cause ? cause.code : undefined;
  switch (code) {
    case "EADDRINUSE":
      return `Port ${port} on ${host} is in use by another process; stop that one, or choose another port with gateway.port or --port (0: any free one).`;
    case "EACCES":
      return `Port ${port} on ${host} may not be used by this user; choose one above 1023 with gateway.port or --port.`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `${host} is not an address of this machine; write loopback, lan or one of its addresses in gateway.bind or --host.`;
    default:
      return `Listening on ${host}, port ${port}, failed: ${cause.message}.`;
  }
}
