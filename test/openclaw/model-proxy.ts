import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";

interface ChatMessage {
  readonly role: string;
  readonly content: unknown;
}

/** What the host puts around notes of its own. */
const INTERNAL = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>";

/**
 * Stands between the host and a model of a suite. The host appends notes of its own to what a person or
 * a run says; the model is given one last message with what was said, and with system events if there are any.
 */
export class ModelProxy {
  readonly #server: Server;
  readonly #target: string;
  readonly #turns = new Map<string, number>();

  static async start(target: string): Promise<ModelProxy> {
    const proxy = new ModelProxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((req, res) => void this.#forward(req, res).catch(() => res.destroy()));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** Sessions that have made calls. */
  sessions(): readonly string[] {
    return [...this.#turns.keys()];
  }

  /** Calls made by a session of the host. */
  turns(sessionKey: string): number {
    return this.#turns.get(sessionKey) ?? 0;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #forward(req: IncomingMessage, res: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of req) body += String(chunk);
    const call = JSON.parse(body) as { messages: ChatMessage[] };
    const session = /\bsession=(\S+)/.exec(textOf(call.messages))?.[1];
    if (session !== undefined) this.#turns.set(session, this.turns(session) + 1);
    const gone = new AbortController();
    res.on("close", () => gone.abort());
    const answer = await fetch(`${this.#target}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...call, messages: [{ role: "user", content: said(call.messages) }] }),
      signal: gone.signal,
    });
    const type = answer.headers.get("content-type") ?? "application/json";
    // The host would try again for more than a minute; told to wait longer than that, it gives up at once.
    res.writeHead(answer.status, { "content-type": type, ...(answer.status === 503 ? { "retry-after": "900" } : {}) });
    if (answer.body === null) res.end();
    else
      Readable.fromWeb(answer.body)
        .on("error", () => res.destroy())
        .pipe(res);
  }
}

/** What the session was told last: the trailing messages of the user, notes without events left out. */
export function said(messages: readonly ChatMessage[]): string {
  const begin = messages.findLastIndex(({ role }) => role !== "user") + 1;
  const texts = messages.slice(begin).map((message) => textOf([message]));
  return texts.filter((text) => !text.startsWith(INTERNAL) || text.includes("System: [")).join("\n");
}

function textOf(messages: readonly ChatMessage[]): string {
  return messages
    .map(({ content }) => {
      if (typeof content === "string") return content;
      const parts = Array.isArray(content) ? (content as readonly { text?: string }[]) : [];
      return parts.map(({ text }) => text ?? "").join("");
    })
    .join("\n");
}
