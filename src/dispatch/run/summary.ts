import { removeHidden } from "../../core/boundary/remove-hidden.ts";
import { quotedLabel, sanitizeUntrusted } from "../../core/boundary/sanitize-untrusted.ts";
import { wrapUntrusted } from "../../core/boundary/wrap-untrusted.ts";
import type { CheckOutgoing } from "../../core/outgoing/check-outgoing.ts";
import type { AgentSpec } from "../../core/run.ts";
import type { AgentRunResult } from "../../core/host.ts";

const MAX_SUMMARY = 2_000;
/** A reply of the gateway's own vocabulary: it needs no boundary. */
const SILENT = "NO_REPLY";

/**
 * The summary that every run leaves in the agent's main session (specification 4.2): `Hook <name>: <reply>`,
 * or `Hook <name> (<status>): <error>`.
 *
 * The agent has read what a caller sent, and a model's endpoint wrote the error, so both stand inside a
 * boundary. A reply stands bare only for a mapping whose author trusts every word of its source. A name that
 * the owner did not write is a {@link quotedLabel}. A text that may not leave is replaced by the reason.
 */
export function summaryText(
  spec: Pick<AgentSpec, "name" | "nameBy" | "unsafe">,
  result: AgentRunResult,
  checkOutgoing?: CheckOutgoing,
): string {
  const { name, nameBy, unsafe } = spec;
  const ok = result.status === "ok";
  const isOwn = nameBy === "owner" || unsafe;
  const label = `Hook ${isOwn ? name : quotedLabel(name)}${ok ? "" : ` (${result.status})`}`;
  const said = (ok ? result.reply : (result.error ?? result.reply)).trim();
  if (said === "" || said === SILENT) return `${label}: ${said || result.status}`;
  const problem = checkOutgoing?.(said);
  if (problem !== undefined) return `${label}: ${ok ? "the reply" : "the error"} is not shown here: ${problem}.`;
  const text = cut(sanitizeUntrusted(removeHidden(said).text), MAX_SUMMARY);
  if (ok && unsafe) return `${label}: ${text}`;
  const meta = { source: ok ? "Agent reply" : "Error message", name: isOwn ? undefined : name };
  return `${label}: ${wrapUntrusted(text, meta, { as: "report" })}`;
}

/** Cuts text to a number of characters without leaving half a surrogate pair. */
export function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const kept = text.slice(0, maxChars);
  return `${/[\uD800-\uDBFF]$/.test(kept) ? kept.slice(0, -1) : kept}…`;
}
