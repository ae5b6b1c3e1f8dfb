import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";

/** One message that the channel posted. */
export interface ReceivedMessage {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The same for every try at one message. */
  readonly webhookId: string;
  readonly text: string;
  readonly status: number;
}

/** Where the channel `webhook` posts to: a receiver on loopback that fails as a script says; it outlives gateways. */
export class ScriptedReceiver {
  readonly messages: ReceivedMessage[] = [];
  readonly #server: Server;

  private constructor(statusFor: (text: string) => number) {
    this.#server = createServer((req, res) => void this.#answer(req, res, statusFor));
  }

  static async listen(statusFor: (text: string) => number = () => 204): Promise<ScriptedReceiver> {
    const receiver = new ScriptedReceiver(statusFor);
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  /** The section `channels` of a gateway's configuration. */
  get config(): { readonly webhook: object } {
    const address = this.#server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
    return { webhook: { url: `http://127.0.0.1:${port}/messages`, secret, timeoutSeconds: 5 } };
  }

  /** How many connections are open. */
  connections(): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    return promise;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(req: IncomingMessage, res: ServerResponse, statusFor: (text: string) => number): Promise<void> {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk as Buffer);
      const { text } = JSON.parse(Buffer.concat(chunks).toString()) as { text: string };
      const status = statusFor(text);
      this.messages.push({ at: Date.now(), webhookId: String(req.headers["webhook-id"]), text, status });
      res.writeHead(status).end();
    } catch {
      // The gateway was killed while it sent.
      res.destroy();
    }
  }
}
