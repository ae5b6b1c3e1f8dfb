import type { ServerResponse } from "node:http";

/** Answers a streamed chat completion with this text, as an OpenAI-compatible endpoint does. */
export function streamChat(res: ServerResponse, content: string): void {
  const common = { id: "c1", created: 1, model: "m", object: "chat.completion.chunk" };
  res.writeHead(200, { "Content-Type": "text/event-stream" });
  for (const choice of [
    { index: 0, delta: { role: "assistant", content }, finish_reason: null },
    { index: 0, delta: {}, finish_reason: "stop" },
  ]) {
    res.write(`data: ${JSON.stringify({ ...common, choices: [choice] })}\n\n`);
  }
  res.end("data: [DONE]\n\n");
}
