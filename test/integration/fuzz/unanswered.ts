import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";

interface Message {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Tells whether the servers of this process owe an answer, however long one takes them. */
export class Unanswered implements Disposable {
  readonly #open = new Set<Message["request"]>();

  constructor() {
    subscribe("http.server.request.start", this.#began);
  }

  /** True while a request that has come as a whole is not answered. */
  get some(): boolean {
    return this.#open.values().some(({ complete, destroyed }) => complete && !destroyed);
  }

  [Symbol.dispose](): void {
    unsubscribe("http.server.request.start", this.#began);
  }

  readonly #began = (message: unknown): void => {
    const { request, response } = message as Message;
    this.#open.add(request);
    response.once("close", () => this.#open.delete(request));
  };
}
