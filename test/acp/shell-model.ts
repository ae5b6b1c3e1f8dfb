import type { ServerResponse } from "node:http";
import { streamChat, streamToolCall } from "../conformance/host/chat-stream.ts";
import { LoopbackServer, type LoopbackRequest } from "../conformance/host/loopback-server.ts";

interface Message {
  readonly role: string;
  readonly content: unknown;
}

/** A model that asks for one command of the shell, and then says what it resulted in. */
export class ShellModel extends LoopbackServer {
  /** What it was given as the user's words in requests with tools. */
  readonly prompts: string[] = [];

  static start(): Promise<ShellModel> {
    return new ShellModel().listen();
  }

  protected answer({ body }: LoopbackRequest, res: ServerResponse): void {
    const { messages, tools = [] } = JSON.parse(body) as {
      messages: readonly Message[];
      tools?: readonly { readonly function: { readonly name: string } }[];
    };
    const prompt = messages.flatMap(({ role, content }) => (role === "user" ? [textOf(content)] : [])).join("\n");
    const command = /please run: ([\w ./-]+)\./u.exec(prompt)?.[1];
    const result = messages.findLast(({ role }) => role === "tool");
    // It is also asked for a title of the session, without tools.
    const hasShell = tools.some(({ function: { name } }) => name === "bash");
    if (!hasShell || command === undefined) return streamChat(res, "A title");
    this.prompts.push(prompt);
    if (result !== undefined) streamChat(res, `It is done: ${textOf(result.content)}`);
    else streamToolCall(res, { tool: "bash", args: { command, description: "Looks at files" } });
  }
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return (content as readonly { readonly text?: string }[]).map(({ text = "" }) => text).join("\n");
}
