import { findMarkers } from "./find-markers.ts";
import { type FoldedText, foldText } from "./fold-text.ts";
import { LOOK_ALIKES } from "./look-alikes.ts";
import { HIDDEN } from "./remove-hidden.ts";

/** Nearly every marker and every token holds one of these, once folded. */
const SUSPECT = /[<[_]/;
/** Openings of a marker without any of them: other brackets, rules, encoded characters, a turned direction. */
const OPENING =
  /[({\uFF08\uFF5B\uFE59\uFE5B][^\p{L}\p{N}]{0,8}[({\uFF08\uFF5B\uFE59\uFE5B]|[=#*~|\u00AF\u02D7\u2010-\u2015\u2043\u2212\u2500\u2501\uFE58\uFE63\uFF0D-]{2}|&(?:lt|#|low)|%[35]|\\u00|[\u202B\u202E\u2067]/iu;
/** Characters that turn the direction of a text. */
const REVERSAL = /[\u202B\u202E\u2067]/;
/** Blocks of Unicode with characters that decompose to one of them: negated relations, vertical, small and full-width forms. */
const DECOMPOSED = [
  [0x22_00, 0x22_ff],
  [0xfe_30, 0xfe_6f],
  [0xff_00, 0xff_60],
] as const;

/** 1 for each UTF-16 unit that folds to a suspect character; all of these are in the Basic Multilingual Plane. */
const SUSPECT_UNITS = new Uint8Array(0x1_00_00);
for (let unit = 0; unit <= 0x7f; unit++) markIfSuspect(unit);
for (const char of LOOK_ALIKES.keys()) markIfSuspect(char.codePointAt(0)!);
for (const [first, last] of DECOMPOSED) {
  for (let unit = first; unit <= last; unit++) markIfSuspect(unit);
}

function markIfSuspect(codePoint: number): void {
  if (SUSPECT.test(foldText(String.fromCodePoint(codePoint)).text)) SUSPECT_UNITS[codePoint] = 1;
}

/**
 * Tells whether a text can hold a boundary marker or a control token at all, which ordinary prose cannot:
 * it has no angle bracket, square bracket, underscore or look-alike of these. Never false for one that does.
 */
export function isSuspect(text: string): boolean {
  // Two native passes are ten times faster than one loop, for a text that is all ASCII.
  if (Buffer.byteLength(text) === text.length) return SUSPECT.test(text) || OPENING.test(text);
  for (let index = 0; index < text.length; index++) {
    if (SUSPECT_UNITS[text.charCodeAt(index)] === 1) return true;
  }
  return OPENING.test(text);
}

const REPLACED = { start: "[[MARKER_SANITIZED]]", end: "[[END_MARKER_SANITIZED]]" } as const;
const REMOVED = "[REMOVED_SPECIAL_TOKEN]";

/**
 * Control tokens of chat models, as vocabularies spell them. None begins, ends or continues
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
    // Claude and agents that speak XML.
    String.raw`(?i:<\/?(?:function_calls|function_results|tool_use|tool_result|system|system-reminder|antml:\w+)>)`,
    // Mistral, GLM, InternLM. Not MiniMax's, which a replacement could complete by its closing bracket.
    String.raw`(?i:\[\/?(?:inst|system_prompt|available_tools|tool_calls|tool_results|tool_content)\])`,
    String.raw`(?i:\[(?:gmask|unused_token_\d+)\])`,
  ].join("|"),
  "g",
);

/** A line that would begin a turn of a conversation, as some models were trained, becomes a quoted line. */
const TURN = /(?<=\n[ \t\r]{0,8}\n[ \t\r]{0,8})(?=(?:Human|Assistant)[ \t]{0,8}:)/g;

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly by: string;
}

/**
 * Neutralizes what content could use to step out of the boundary: forged boundary markers in any
 * disguise become `[[MARKER_SANITIZED]]` or `[[END_MARKER_SANITIZED]]`, control tokens of chat models
 * become `[REMOVED_SPECIAL_TOKEN]`, and a line that would begin a turn is quoted. Everything else is returned unit for unit, lone surrogates too.
 *
 * Sanitizing the result, or any part of it, changes nothing more. Linear in the length of the text.
 */
export function sanitizeUntrusted(content: string): string {
  const text = content.replaceAll(TURN, "> ");
  if (!isSuspect(text)) return text;
  const folded = foldText(text);
  const unmarked = replace(
    text,
    folded,
    findMarkers(folded.text, { reversed: REVERSAL.test(text) }).map(({ start, end, kind }) => ({
      start,
      end,
      by: REPLACED[kind],
    })),
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

const MAX_NAME_CHARS = 500;

const BLANKS = /[\s\p{Cc}]+/gu;
const VISIBLE = /[^\p{Default_Ignorable_Code_Point}]/u;

/**
 * Makes a name that arrived a request safe for one line of an event or of metadata.
 *
 * The result has no control characters, line breaks or hidden text, single spaces, no boundary markers
 * or control tokens, and at most 500 characters (UTF-16 units, cut between code points); it is "" when
 * nothing visible is left. A name that came out of it goes through it unchanged.
 */
export function sanitizeName(name: string): string {
  const line = name.toWellFormed().replace(HIDDEN, "").replace(BLANKS, " ").trim();
  if (!VISIBLE.test(line)) return "";
  const safe = sanitizeUntrusted(line);
  if (safe.length <= MAX_NAME_CHARS) return safe;
  const cutsPair = safe.codePointAt(MAX_NAME_CHARS - 1)! > 0xff_ff;
  return safe.slice(0, cutsPair ? MAX_NAME_CHARS - 1 : MAX_NAME_CHARS).trimEnd();
}

const MAX_LABEL_CHARS = 60;
const NO_LABEL = /[^\p{L}\p{M}\p{N}_/.#-]+/gu;

/**
 * Reduces a name that the owner did not write to a label that stands outside the boundary: letters, digits
 * and `-_/.#`, at most 60 of them, in quotes. Any other characters become one `-`.
 */
export function quotedLabel(name: string): string {
  const label = sanitizeName(name).replace(NO_LABEL, "-");
  return `"${Array.from(label).slice(0, MAX_LABEL_CHARS).join("")}"`;
}
