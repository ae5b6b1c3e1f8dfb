import type { ServerResponse } from "node:http";
import { LoopbackServer } from "../conformance/host/loopback-server.ts";
import type { LoopbackRequest } from "../conformance/host/loopback-server.ts";

export interface SentMessage {
  readonly to: string;
  readonly text: string;
}

/** Telegram's Bot API on loopback, as far as a bot that sends and polls needs it. */
export class BotApiServer extends LoopbackServer {
  /** Messages that were sent, in order. */
  readonly sent: SentMessage[] = [];

  static start(): Promise<BotApiServer> {
    return new BotApiServer().listen();
  }

  get url(): string {
    return this.origin;
  }

  protected async answer({ url, body }: LoopbackRequest, res: ServerResponse): Promise<void> {
    const method = url.split("?")[0]?.split("/").at(-1);
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
