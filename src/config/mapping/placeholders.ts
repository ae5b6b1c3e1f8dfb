/** The templates of a mapping, and what is wrong with their placeholders. */
import { LEVELS } from "../../core/delivery.ts";
import type { Findings } from "../errors.ts";
import { unclosedPlaceholder } from "../schema-parts.ts";
import { isTemplated } from "../session.ts";
import { showValue } from "../show-value.ts";
import type { MappingConfig } from "./schema.ts";

/** What is read of a header that no request has: nothing, which is the same for every event. */
export const CAPITALS = "reads a header by capitals, and so nothing: write its name in lower case";

/** Keys whose value is a template. */
const TEMPLATES = ["name", "sessionKey", "messageTemplate", "textTemplate", "to", "model", "thinking"] as const;

/**
 * Refuses a template that opens a placeholder and does not close it: it would print as written, and so the same for
 * every event, by which calls are coalesced or released that have nothing to do with each other. `written` are the
 * keys that the mapping's author wrote. The templates of a wait are checked with it.
 */
export function checkPlaceholders(mapping: MappingConfig, written: object, findings: Findings): void {
  for (const [path, template] of templatesOf(mapping)) {
    const [key = ""] = path.split(".", 1);
    if (template === undefined || !Object.hasOwn(written, key)) continue;
    if (/\{\{\s*headers\.[^}]*[A-Z]/.test(template)) findings.warn(`${mapping.where}.${path}`, CAPITALS);
    const unclosed = unclosedPlaceholder(template);
    if (unclosed === undefined) continue;
    findings.refuse(`${mapping.where}.${path}`, `the placeholder ${showValue(unclosed)} is not closed; end it with }}`);
  }
}

/** Warns of placeholders where none is replaced: no recipient has such a name. */
export function warnOfLiteral(text: string | undefined, path: string, findings: Findings): void {
  if (text !== undefined && isTemplated(text)) {
    findings.warn(
      path,
      "takes no placeholders, and is used as it is written; write one that is the same for all calls",
    );
  }
}

/** The recipients of a mapping besides `to`, which is a template. */
export function checkRecipients({ where, fallback, rights }: MappingConfig, findings: Findings): void {
  warnOfLiteral(fallback?.to, `${where}.fallback.to`, findings);
  for (const [at, level] of LEVELS.entries()) {
    const isRepeated = at > 0 && rights?.[LEVELS[at - 1]!] === rights?.[level];
    if (!isRepeated) warnOfLiteral(rights?.[level].to, `${where}.rights.${level}.to`, findings);
  }
}

/** By the path of its key. */
function templatesOf(mapping: MappingConfig): readonly (readonly [path: string, template: string | undefined])[] {
  const { coalesce, respond, workspace, release } = mapping;
  return [
    ...TEMPLATES.map((key) => [key, mapping[key]] as const),
    ["coalesce.key", coalesce?.key],
    ["respond.body", respond.kind === "content" ? respond.body : undefined],
    ["workspace.ref", workspace?.git?.ref],
    ["release.object", release?.object],
    ["release.text", release?.text],
  ];
}
