/** What is left out of a turn that is too long for its model: older messages first, then long results of tools. */
import type { TurnMessage } from "./turn.ts";

export interface Sent {
  /** In order; the last one is the user's. */
  readonly messages: readonly TurnMessage[];
  /** In the form of the endpoint: the model's calls and what they resulted in. */
  readonly exchange: readonly object[];
}

interface ToolResult {
  readonly role: "tool";
  readonly content: string;
}

/** A shorter result makes no difference. */
const LONG_RESULT_CHARS = 1_000;
const LEFT_OUT = "This result is left out: with it, the turn is too long for the model. Ask for less.";

/** `undefined`: nothing is left that could be left out. What is asked now stays, whatever its length. */
export function shortened({ messages, exchange }: Sent): Sent | undefined {
  if (messages.length > 1) return { messages: laterHalf(messages), exchange };
  const longest = Math.max(0, ...exchange.filter(isResult).map(({ content }) => content.length));
  if (longest <= LONG_RESULT_CHARS) return undefined;
  // Those that are about as long go with it: each request takes its time.
  const isLong = (each: object): boolean => isResult(each) && each.content.length * 2 >= longest;
  return { messages, exchange: exchange.map((each) => (isLong(each) ? { ...each, content: LEFT_OUT } : each)) };
}

/** A session would otherwise never have a turn again. */
function laterHalf(messages: readonly TurnMessage[]): readonly TurnMessage[] {
  const half = messages.slice(Math.ceil(messages.length / 2));
  return half.slice(half.findIndex(({ role }) => role === "user"));
}

function isResult(each: object): each is ToolResult {
  return "role" in each && each.role === "tool";
}
