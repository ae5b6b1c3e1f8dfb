import { sanitizeUntrusted } from "../../core/boundary/sanitize-untrusted.ts";
import type { AgentRunResult } from "../../core/host.ts";

const MAX_SUMMARY = 2_000;
/**
 * The line that every run leaves in the agent's main session (specification 4.2):
 * `Hook <name>: <summary>`, or `Hook <name> (<status>): <what went wrong>`.
 *
 * The agent may have been talked into repeating what it read, so markers are neutralized here too.
 */
export function summaryLine(name: string, result: AgentRunResult): string {
  const ok = result.status === "ok";
  const label = ok ? `Hook ${name}` : `Hook ${name} (${result.status})`;
  const text = (ok ? result.reply : (result.error ?? result.reply)).trim() || result.status;
  return `${label}: ${cut(sanitizeUntrusted(text), MAX_SUMMARY)}`;
}

/** Cuts text to a number of characters without leaving half a surrogate pair. */
export function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const kept = text.slice(0, maxChars);
  return `${/[\uD800-\uDBFF]$/.test(kept) ? kept.slice(0, -1) : kept}…`;
}
