import { StartError } from "../start-error.ts";

/** Thrown when the server's address cannot be had. */
export class ListenError extends StartError {
  override readonly name = "ListenError";

  constructor(wanted: { readonly host: string; readonly port: number }, cause: Error) {
    super(sentence(wanted, cause), { cause });
  }
}

function sentence({ host, port }: { readonly host: string; readonly port: number }, cause: Error): string {
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
