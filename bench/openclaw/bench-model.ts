import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { said } from "../../test/openclaw/model-proxy.ts";

/** One call of the model; times are milliseconds since the epoch. */
export interface ModelCall {
  /** The host's session that made it. */
  readonly session: string;
  /** The last message of the session. */
  readonly prompt: string;
  /** What the prompt has in `[say ...]`; `undefined` in a session that only hears of runs. */
  readonly word: string | undefined;
  readonly beganAt: number;
  /** When it was answered whole, or when the caller went away before. */
  endedAt: number | undefined;
  /** True once it was answered whole. */
  isAnswered: boolean;
}

/** A model that says `Done: <word>` to a run whose prompt has `[say <word>]`, and remembers every call with its times. */
export class BenchModel {
  readonly #server: Server;
  readonly calls: ModelCall[] = [];
  /** How long an answer to a run takes; the main session is answered at once. */
  delayMs = 0;

  static async start(): Promise<BenchModel> {
    const model = new BenchModel();
    model.#server.listen(0, "127.0.0.1");
    await once(model.#server, "listening");
    return model;
  }

  private constructor() {
    this.#server = createServer((req, res) => void this.#answer(req, res).catch(() => res.destroy()));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** The calls of runs: those that were asked for a word. */
  runs(): readonly (ModelCall & { readonly word: string })[] {
    return this.calls.filter((call): call is ModelCall & { readonly word: string } => call.word !== undefined);
  }

  /** How many runs wait for their answer. */
  underWay(): number {
    return this.runs().filter(({ endedAt }) => endedAt === undefined).length;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    // The built-in hooks look whether the model's server is there.
    if (req.method !== "POST") return void res.end(JSON.stringify({ object: "list", data: [{ id: "m" }] }));
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const { messages } = JSON.parse(body) as { messages: { role: string; content: unknown }[] };
    const prompt = said(messages);
    const session = /\bsession=(\S+)/.exec(body)?.[1] ?? "";
    const word = session.endsWith(":main") ? undefined : /\[say ([^\]]+)\]/.exec(prompt)?.[1];
    const call: ModelCall = { session, prompt, word, beganAt: Date.now(), endedAt: undefined, isAnswered: false };
    this.calls.push(call);
    const gone = new AbortController();
    res.once("close", () => {
      call.endedAt = Date.now();
      call.isAnswered = res.writableFinished;
      gone.abort();
    });
    if (word !== undefined) await setTimeout(this.delayMs, undefined, { signal: gone.signal });
    const content = word === undefined ? "NO_REPLY" : `Done: ${word}`;
    const common = { id: "c1", created: 1, model: "m", object: "chat.completion.chunk" };
    const chunk = { ...common, choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }] };
    const last = { ...common, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.end(`data: ${JSON.stringify(chunk)}\n\ndata: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`);
  }
}
