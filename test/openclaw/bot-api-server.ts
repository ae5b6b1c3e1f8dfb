import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface SentMessage {
  readonly to: string;
  readonly text: string;
}

/** Telegram's Bot API on loopback, as far as a bot that sends and polls needs it. */
export class BotApiServer {
  readonly #server: Server;
  /** Messages that were sent, in order. */
  readonly sent: SentMessage[] = [];

  static async start(): Promise<BotApiServer> {
    const api = new BotApiServer();
    api.#server.listen(0, "127.0.0.1");
    await once(api.#server, "listening");
    return api;
  }

  private constructor() {
    this.#server = createServer((req, res) => void this.#answer(req, res));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of req) body += String(chunk);
    const method = (req.url ?? "").split("?")[0]?.split("/").at(-1);
    if (method === "getUpdates") {
      await new Promise((resolve) => setTimeout(resolve, 10_000).unref());
      return reply(res, []);
    }
    if (method === "getMe") return reply(res, { id: 1, is_bot: true, first_name: "Bot", username: "test_bot" });
    if (method !== "sendMessage") return reply(res, true);
    const message = JSON.parse(body) as { chat_id: string | number; text: string };
    this.sent.push({ to: String(message.chat_id), text: message.text });
    reply(res, { message_id: this.sent.length, date: 1, chat: { id: 5, type: "private" }, text: message.text });
  }
}

function reply(res: ServerResponse, result: unknown): void {
  res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ ok: true, result }));
}
