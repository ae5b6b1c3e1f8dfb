import type { ServerResponse } from "node:http";

/** A call of a tool by the model. */
export interface ToolCall {
  readonly tool: string;
  readonly args: object;
}

/** Answers a streamed chat completion with this text, as an OpenAI-compatible endpoint does. */
export function streamChat(res: ServerResponse, content: string): void {
  stream(res, { content }, "stop");
}

/** Answers a streamed chat completion with the call of a tool. */
export function streamToolCall(res: ServerResponse, { tool, args }: ToolCall): void {
  const call = { name: tool, arguments: JSON.stringify(args) };
  stream(res, { tool_calls: [{ index: 0, id: `call-${tool}`, type: "function", function: call }] }, "tool_calls");
}

/** What every completion counts as. */
const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

function stream(res: ServerResponse, says: object, reason: string): void {
  const common = { id: "c1", created: 1, model: "m", object: "chat.completion.chunk" };
  res.writeHead(200, { "Content-Type": "text/event-stream" });
  for (const choice of [
    { index: 0, delta: { role: "assistant", ...says }, finish_reason: null },
    { index: 0, delta: {}, finish_reason: reason },
  ]) {
    res.write(`data: ${JSON.stringify({ ...common, choices: [choice] })}\n\n`);
  }
  res.write(`data: ${JSON.stringify({ ...common, choices: [], usage: USAGE })}\n\n`);
  res.end("data: [DONE]\n\n");
}
