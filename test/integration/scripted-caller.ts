import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";

/** Where a caller gets its callback, with the outcome of its call: a receiver on loopback that answers as a test says. */
export class ScriptedCaller {
  /** What is answered from now on. */
  status = 204;
  /** The callbacks, in order; the refused ones too. */
  readonly results: Readonly<Record<string, unknown>>[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((req, res) => void this.#answer(req, res));
  }

  static async listen(): Promise<ScriptedCaller> {
    const caller = new ScriptedCaller();
    await new Promise<void>((resolve) => caller.#server.listen(0, "127.0.0.1", resolve));
    return caller;
  }

  get origin(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk as Buffer);
      this.results.push(JSON.parse(Buffer.concat(chunks).toString()) as Readonly<Record<string, unknown>>);
      res.writeHead(this.status, this.status === 302 ? { location: "/elsewhere" } : {}).end();
    } catch {
      // The gateway was stopped while it told.
      res.destroy();
    }
  }
}
