/** The agent that answers when no model is configured: it reads nothing and obeys nothing. */

/** Characters of the prompt that are quoted back. */
const MAX_QUOTED_CHARS = 200;

const ADVICE =
  "To have a model answer, set agents.defaults.model to <provider>/<model> and define that provider's baseUrl " +
  "under models.providers in the gateway's configuration file.";

/**
 * Answers a prompt without a model: the same words for the same prompt, who is answering, what it
 * was given (its length and its first words), and how to configure a model. The prompt is
 * only quoted, whatever it asks for.
 */
export function answerOffline(prompt: string): string {
  const bare = prompt.replaceAll(/^System: /gm, "");
  const content = insideBoundary(bare) ?? bare;
  const line = content.replaceAll(/[\p{C}\p{Z}\s]+/gu, " ").trim();
  const quoted = line.length > MAX_QUOTED_CHARS ? `${cutAtWord(line)}...` : line;
  return [
    `This is the built-in offline agent: no model is configured, so nothing was done with what was received.`,
    `Received ${content.length} characters: "${quoted}"`,
    ADVICE,
  ].join("\n");
}

/** Half an address would be an address that the event does not have. */
function cutAtWord(line: string): string {
  const kept = line.slice(0, MAX_QUOTED_CHARS).toWellFormed();
  const space = line[MAX_QUOTED_CHARS] === " " ? -1 : kept.lastIndexOf(" ");
  return space === -1 ? kept : kept.slice(0, space);
}

/** The offline agent's answer to a heartbeat that has nothing to report. */
export function acknowledgeOffline(): string {
  return "HEARTBEAT_OK The built-in offline agent has nothing to report; no model is configured.";
}

/**
 * The content between the untrusted-content markers of a prompt, or `undefined` when it has none.
 * The first marker decides the id, and content cannot forge it: it was made after the content came.
 */
function insideBoundary(prompt: string): string | undefined {
  const start = /^<<<[A-Z_]+ id="([0-9a-f]+)">>>\n/m.exec(prompt);
  if (start === null) {
    return undefined;
  }
  const rest = prompt.slice(start.index + start[0].length);
  const end = rest.search(new RegExp(`\\n<<<END_[A-Z_]+ id="${start[1]}">>>`));
  if (end === -1) {
    return undefined;
  }
  const inside = rest.slice(0, end);
  // Metadata lines (source, name) stand above a rule.
  const rule = /^---\n/m.exec(inside);
  return rule === null ? inside : inside.slice(rule.index + rule[0].length);
}
