import { partOfText } from "../../core/boundary/remove-hidden.ts";
import type { RunSpec } from "../../core/run.ts";
import type { CoalescedCalls } from "../../storage/delivery-store.ts";

/** Characters of the texts that are listed; the latest text is given whole, however long. */
const MAX_LISTED_CHARS = 65_536;

/** The text of a run: of its own call, or of all coalesced calls. */
export interface CoalescedText {
  /** Untrusted, as it came. */
  readonly text: string;
  /** In the gateway's own words: what the text is of; `undefined` when it is of one call. */
  readonly note: string | undefined;
  /** True when the mapping's author trusts every call whose spec is known. */
  readonly unsafe: boolean;
}

/** The text of a run that may have coalesced calls, by the run's own way of rendering them. */
export function coalescedText(spec: RunSpec, coalesced: CoalescedCalls | undefined): CoalescedText {
  const { unsafe } = spec;
  if (coalesced === undefined || coalesced.count <= 1) return { text: textOf(spec), note: undefined, unsafe };
  const { count, latest, texts } = coalesced;
  const stands = `This run serves ${count} calls that arrived one after the other.`;
  // The configuration may have changed between two calls: the stricter one holds.
  const common = { unsafe: unsafe && latest.unsafe };
  if (spec.coalesce !== "list") {
    return { ...common, text: textOf(latest), note: `${stands} The content is that of the latest one.` };
  }
  const shown = latestThatFit(texts);
  const left = count - shown.length;
  const listed = left === 0 ? "all of them" : `${shown.length} of them`;
  const missing = left === 0 ? "" : ` Left out: ${left}.`;
  return {
    ...common,
    text: shown.map((text, at) => `[${at + 1}]\n${partOfText(text, spec.textKind)}`).join("\n\n"),
    note: `${stands} The content lists ${listed} by number, the latest one last.${missing}`,
  };
}

function latestThatFit(texts: readonly string[]): readonly string[] {
  let chars = 0;
  let first = texts.length;
  while (first > 0) {
    chars += texts[first - 1]!.length;
    if (chars > MAX_LISTED_CHARS && first < texts.length) break;
    first--;
  }
  return texts.slice(first);
}

function textOf(spec: RunSpec): string {
  return spec.kind === "wake" ? spec.text : spec.message;
}
