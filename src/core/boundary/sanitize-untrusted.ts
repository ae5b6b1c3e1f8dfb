import { findMarkers } from "./find-markers.ts";
import { foldText } from "./fold-text.ts";
import type { FoldedText } from "./fold-text.ts";
import { isSuspect } from "./is-suspect.ts";

const REPLACED = { start: "[[MARKER_SANITIZED]]", end: "[[END_MARKER_SANITIZED]]" } as const;
const REMOVED = "[REMOVED_SPECIAL_TOKEN]";

/**
 * Control tokens of chat models, as vocabularies spell them. None begins, ends or goes on
 * inside a replacement, so that no replacement completes one; and each alternative stops at the next
 * opening bracket, which keeps the search linear.
 */
const TOKENS = new RegExp(
  [
    // ChatML, Llama 3 and 4, Harmony, Phi, Command R, GLM, Kimi, DeepSeek: <|name|>; Gemma 4: <|name> and <name|>.
    String.raw`<\|[^\s<>|[\]]+\|>`,
    String.raw`<\|\/?[\w.-]+>`,
    String.raw`<[\w.-]+\|>`,
    // Llama 2 and SentencePiece. Case counts: <S> is a type parameter, no token.
    String.raw`<\/?s>`,
    String.raw`<<?\/?SYS>>?`,
    // Gemma, StarCoder, GLM, Qwen, Command R, Seed, InternLM.
    String.raw`(?i:<(?:start_of_turn|end_of_turn|start_of_image|end_of_image|unused\d+)>)`,
    String.raw`(?i:<(?:bos|eos|pad|unk|sop|eop|bos_token|eos_token|fim_(?:prefix|middle|suffix|pad)|endoftext)>)`,
    String.raw`(?i:<\/?(?:think|tool_call|tool_response|seed:\w+|tokens_unused_\d+)>)`,
    // Mistral, GLM, InternLM. Not MiniMax's, which a replacement could complete by its closing bracket.
    String.raw`(?i:\[\/?(?:inst|system_prompt|available_tools|tool_calls|tool_results|tool_content)\])`,
    String.raw`(?i:\[(?:gmask|unused_token_\d+)\])`,
  ].join("|"),
  "g",
);

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly by: string;
}

/**
 * Neutralizes what content could use to step out of the boundary: forged boundary markers in any
 * disguise become `[[MARKER_SANITIZED]]` or `[[END_MARKER_SANITIZED]]`, control tokens of chat models
 * become `[REMOVED_SPECIAL_TOKEN]`. Everything else is returned unit for unit, lone surrogates too.
 *
 * Sanitizing the result, or any part of it, changes nothing more. Linear in the length of the text.
 */
export function sanitizeUntrusted(text: string): string {
  if (!isSuspect(text)) return text;
  const folded = foldText(text);
  const unmarked = replace(
    text,
    folded,
    findMarkers(folded.text).map(({ start, end, kind }) => ({ start, end, by: REPLACED[kind] })),
  );
  // Markers first: the words of one may stand inside the bars of a token.
  const rest = unmarked === text ? folded : foldText(unmarked);
  return replace(unmarked, rest, findTokens(rest.text));
}

function findTokens(folded: string): Edit[] {
  return Array.from(folded.matchAll(TOKENS), ({ 0: token, index }) => ({
    start: index,
    end: index + token.length,
    by: REMOVED,
  }));
}

function replace(text: string, folded: FoldedText, edits: readonly Edit[]): string {
  if (edits.length === 0) return text;
  const parts: string[] = [];
  let done = 0;
  for (const edit of edits) {
    const [start, end] = folded.source(edit.start, edit.end);
    // Should one code point end one edit and begin the next, slice() gives "" between them.
    parts.push(text.slice(done, start), edit.by);
    done = end;
  }
  parts.push(text.slice(done));
  return parts.join("");
}
