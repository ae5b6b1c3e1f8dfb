import { sanitizeUntrusted } from "../boundary/sanitize-untrusted.ts";
import type { AgentRunResult } from "../host.ts";

const SILENT = "NO_REPLY";
/** At either end, and no part of a longer name: `HEARTBEAT_OK_COUNT` is something to tell. */
const ACK = /^HEARTBEAT_OK(?!_?[\p{L}\p{N}])|(?<![\p{L}\p{N}]_?)HEARTBEAT_OK$/u;
/** What may stand beside an acknowledgment without making it a message, in characters. */
const MAX_ACK_REMAINDER = 300;
const MAX_CLOTHED_ACK = 2_000;
const EMPTY = "the reply is empty";
const MAX_SUMMARY = 2_000;
const CLOTHING = /^[\s*_~`>#-]+|[\s*_~`.,!?;:-]+$/g;
/** Elements only: `<https://example.org>` is a link, and may be all there is to say. */
const TAGS = /<\/?[a-z][a-z0-9]*(?:\s[^<>]{0,100})?\/?>/gi;

/**
 * Why a reply is not delivered, or `undefined` when it is: it is empty, it says `NO_REPLY`, or it
 * only acknowledges a heartbeat (specification 2.3, `deliver`).
 */
export function suppression(reply: string): string | undefined {
  const said = reply.trim();
  if (said === "") return EMPTY;
  // Longer than any acknowledgment in any markup: the expressions below need not read it.
  if (said.length > MAX_CLOTHED_ACK) return undefined;
  const bare = said.replace(TAGS, "").replace(CLOTHING, "").trim();
  if (bare === "") return EMPTY;
  if (bare === SILENT) return `the reply is ${SILENT}`;
  if (!ACK.test(bare)) return undefined;
  const remainder = bare.replace(ACK, "").trim();
  return remainder.length <= MAX_ACK_REMAINDER ? "the reply only acknowledges a heartbeat" : undefined;
}

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
