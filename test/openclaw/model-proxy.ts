import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { LoopbackServer } from "../conformance/host/loopback-server.ts";
import type { LoopbackRequest } from "../conformance/host/loopback-server.ts";

export interface ChatMessage {
  readonly role: string;
  readonly content: unknown;
}

/** What the host puts around notes of its own. */
const INTERNAL = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>";

/**
 * Stands between the host and a model of a suite. The host appends notes of its own to what a person or
 * a run says; the model is given one last message with what was said, and with system events if there are any.
 */
export class ModelProxy extends LoopbackServer {
  readonly #target: string;
  readonly #turns = new Map<string, number>();

  static start(target: string): Promise<ModelProxy> {
    return new ModelProxy(target).listen();
  }

  private constructor(target: string) {
    super();
    this.#target = target;
  }

  get url(): string {
    return `${this.origin}/v1`;
  }

  /** Sessions that have made calls. */
  sessions(): readonly string[] {
    return [...this.#turns.keys()];
  }

  /** Calls made by a session of the host. */
  turns(sessionKey: string): number {
    return this.#turns.get(sessionKey) ?? 0;
  }

  protected async answer({ body }: LoopbackRequest, res: ServerResponse): Promise<void> {
    const call = JSON.parse(body) as { messages: ChatMessage[] };
    const session = sessionOf(textOf(call.messages));
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

/** The host's session that a call of it comes from, as its prompt says; those of others it lists as `session=<key>;`. */
export function sessionOf(text: string): string | undefined {
  return /\bsession=([^\s;]+)\s/.exec(text)?.[1];
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
