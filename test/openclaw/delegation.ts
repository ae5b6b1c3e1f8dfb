import type { ToolCall } from "../conformance/host/chat-stream.ts";
import type { ChatMessage } from "./model-proxy.ts";
import { said } from "./model-proxy.ts";

/** A request of the host to a model, as far as delegating needs it. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

const SPAWN = "sessions_spawn";
const YIELD = "sessions_yield";

/**
 * The tool that a model calls that does as it is told: to `[delegate <word>]` it has a child say the word and
 * yields until it has, to `[wait]` it yields until somebody writes. `undefined` when it has something to say.
 */
export function delegation({ messages, tools = [] }: ChatRequest): ToolCall | undefined {
  const results = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
  const ofTools = results.filter(({ role }) => role === "tool");
  if (ofTools.length > 0) {
    return JSON.stringify(ofTools).includes("childSessionKey") ? { tool: YIELD, args: {} } : undefined;
  }
  const prompt = said(messages);
  if (prompt.includes("[wait]")) return { tool: YIELD, args: { waitFor: "message" } };
  const word = /\[delegate ([^\]]+)\]/.exec(prompt)?.[1];
  if (word === undefined) return undefined;
  const args = { task: `Answer as you are told: [say ${word}]` };
  // Tools that are seldom used stand in a catalog, and are called by way of another.
  const isAtHand = tools.some((tool) => tool.function.name === SPAWN);
  return isAtHand ? { tool: SPAWN, args } : { tool: "tool_call", args: { id: `openclaw:core:${SPAWN}`, args } };
}

/** The word that a child has said, when the host tells of its end. */
export function wordOfChild(prompt: string): string | undefined {
  return /Child completion results:[^]*Done: (\S+)/.exec(prompt)?.[1];
}
