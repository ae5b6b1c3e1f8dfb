/** The calls of tools of one reply: put together from what streams, and sent back to the endpoint. */
import type { ToolCallPiece } from "./completion-event.ts";
import type { ToolCall } from "./tool-servers.ts";

/** Calls of one reply. */
const MAX_CALLS = 64;

interface CollectedCall extends ToolCall {
  name: string;
  arguments: string;
}

/** Puts together what streams in pieces. */
export class CollectedCalls {
  readonly #calls: CollectedCall[] = [];
  /** The call that each index stands for now: some endpoints give all calls of a reply the same. */
  readonly #byIndex = new Map<number, CollectedCall>();
  #charsLeft: number;

  constructor(maxChars: number) {
    this.#charsLeft = maxChars;
  }

  /** False when it is too much. */
  take({ index, id = "", name = "", arguments: args }: ToolCallPiece): boolean {
    let call = this.#byIndex.get(index);
    const isOther = id !== "" && name !== "" && call?.id !== id;
    if (call === undefined || isOther) {
      if (this.#calls.length === MAX_CALLS) return false;
      call = { id: id || `call_${this.#calls.length}`, name: "", arguments: "" };
      this.#calls.push(call);
      this.#byIndex.set(index, call);
    }
    if (call.name === "") call.name = name;
    call.arguments += args;
    this.#charsLeft -= args.length + id.length + name.length;
    return this.#charsLeft >= 0;
  }

  all(): readonly ToolCall[] {
    return this.#calls;
  }
}

/** The model's own message, as it is sent back to it. */
export function callMessage({ reply, calls }: { readonly reply: string; readonly calls: readonly ToolCall[] }): object {
  return {
    role: "assistant",
    content: reply === "" ? null : reply,
    tool_calls: calls.map(({ id, name, arguments: args }) => ({
      id,
      type: "function",
      function: { name, arguments: sound(args) },
    })),
  };
}

/** Some endpoints refuse every further request of a conversation in which a call has arguments that are no object. */
function sound(args: string): string {
  try {
    const value: unknown = JSON.parse(args);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return args;
  } catch {
    // The model learns it from the result of the call.
  }
  return "{}";
}
