import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** What a platform does with the next messages. */
export type Mood = "takes" | "is busy" | "fails" | "refuses" | "is silent";

/** A platform that a channel sends to, as the suite sees it. */
export abstract class Platform implements AsyncDisposable {
  mood: Mood = "takes";
  /** It fails when it has taken so many. */
  takesAtMost = Infinity;
  /** The texts that it took, as it got them. */
  readonly taken: string[] = [];
  /** Requests of any outcome. */
  asked = 0;
  readonly #waiting = Promise.withResolvers<void>();

  /** Resolves when a request has arrived that is not answered. */
  get waiting(): Promise<void> {
    return this.#waiting.promise;
  }

  /** What it does with the request that has arrived. */
  protected nextMood(): Mood {
    this.asked++;
    const mood = this.mood === "takes" && this.taken.length >= this.takesAtMost ? "fails" : this.mood;
    if (mood === "is silent") this.#waiting.resolve();
    return mood;
  }

  abstract [Symbol.asyncDispose](): Promise<void>;
}

/** An answer at the platform's documented wire format. */
export interface PlatformAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: object | string;
}

export interface HttpPlatformOptions {
  readonly answers: Readonly<Record<Exclude<Mood, "is silent">, PlatformAnswer>>;
  /** The text of a request; throws for one that the platform would not understand. */
  readonly textOf: (request: { readonly req: IncomingMessage; readonly body: string }) => string;
}

/** A platform on loopback. */
export class HttpPlatform extends Platform {
  readonly problems: unknown[] = [];
  readonly #server: Server;
  readonly #options: HttpPlatformOptions;

  static async listen(options: HttpPlatformOptions): Promise<HttpPlatform> {
    const platform = new HttpPlatform(options);
    await once(platform.#server.listen(0, "127.0.0.1"), "listening");
    return platform;
  }

  private constructor(options: HttpPlatformOptions) {
    super();
    this.#options = options;
    this.#server = createServer((req, res) => void this.#answer(req, res));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await text(req);
    const mood = this.nextMood();
    if (mood === "is silent") return;
    try {
      const said = this.#options.textOf({ req, body });
      if (mood === "takes") this.taken.push(said);
    } catch (error) {
      this.problems.push(error);
    }
    const { status, headers, body: answer = "" } = this.#options.answers[mood];
    const type = typeof answer === "string" ? "text/plain" : "application/json";
    res.writeHead(status, { "content-type": type, ...headers });
    res.end(typeof answer === "string" ? answer : JSON.stringify(answer));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
