/** What a run's transcript tells; each version of the host has its own shape of it. */

interface TranscriptMessage {
  readonly role?: unknown;
  readonly content?: unknown;
  readonly text?: unknown;
}

/** The text of the agent's last message; empty when it has said nothing. */
export function lastReply(messages: readonly unknown[]): string {
  const last = messages.filter(isMessage).findLast(({ role }) => role === "assistant");
  return last === undefined ? "" : textOf(last);
}

/** True when the agent has said or done anything: a message of its own with content, or a tool's result. */
export function sawAnswer(messages: readonly unknown[]): boolean {
  return messages.filter(isMessage).some((message) => {
    if (message.role === "user" || message.role === "system") return false;
    return message.role !== "assistant" || hasContent(message);
  });
}

function hasContent(message: TranscriptMessage): boolean {
  const { content } = message;
  if (!Array.isArray(content)) return textOf(message) !== "";
  return content.some((part: unknown) => isMessage(part) && (!("text" in part) || part.text !== ""));
}

function textOf({ content, text }: TranscriptMessage): string {
  if (typeof content === "string") return content;
  if (typeof text === "string") return text;
  if (!Array.isArray(content)) return "";
  const parts: readonly unknown[] = content;
  return parts.map((part) => (isMessage(part) && typeof part.text === "string" ? part.text : "")).join("");
}

function isMessage(value: unknown): value is TranscriptMessage {
  return typeof value === "object" && value !== null;
}
