/** Sends `100 Continue` when the body is wanted, and not before. */
import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * Makes the first read of the body send `100 Continue` (RFC 9110, 10.1.1).
 *
 * A handler that refuses a request before it reads the body thereby spares the client sending it;
 * Node closes the connection after such an answer, since the body may or may not follow.
 */
export function continueOnRead(req: IncomingMessage, res: ServerResponse): void {
  const read = req._read.bind(req);
  req._read = (size) => {
    req._read = read;
    if (!res.headersSent) res.writeContinue();
    read(size);
  };
}
