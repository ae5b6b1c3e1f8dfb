/** Rules of `respond.wait`: the wait that an event of the mapping makes. */
import type { Findings } from "../errors.ts";
import type { HooksConfig } from "../hooks.ts";
import { unclosedPlaceholder } from "../schema-parts.ts";
import { isTemplated } from "../session.ts";
import { showValue } from "../show-value.ts";
import { unknownHook } from "../wait-wish.ts";
import type { MappingConfig } from "./schema.ts";

/** Checks the wait by what the mapping itself says. */
export function checkWaitMaking(mapping: MappingConfig, findings: Findings): void {
  const { wait, action, chat, forEach, coalesce, overlap, extract, mode, sessionMode } = mapping;
  if (wait === undefined) return;
  const where = `${mapping.where}.respond.wait`;
  const others = [
    [chat, "chat, whose messages reach the main session as they are"],
    [forEach, "forEach, which makes several runs of one call"],
    [coalesce, "coalesce, which makes one run of several calls"],
    [overlap === "queue" ? undefined : overlap, `overlap: "${overlap}"`],
  ] as const;
  for (const [value, name] of others) {
    if (value !== undefined) findings.refuse(where, `cannot be used together with ${name}; leave one of them out`);
  }
  checkTemplates(mapping, where, findings);
  if (extract !== undefined && isTemplated(wait.wish.note ?? "")) {
    findings.refuse(
      `${where}.note`,
      "takes no placeholders with extract: the session sees nothing else of the payload",
    );
  }
  if (action === "agent" && mode === "run" && wait.run && sessionMode !== "persistent") {
    findings.warn(
      where,
      'resumes a session that remembers nothing of the run before; set sessionMode: "persistent" to continue its conversation',
    );
  }
}

/** Checks the wait by the other mappings, and by the bounds of waits. */
export function checkWaitedHooks(
  { where, wait }: MappingConfig,
  { mappings, waits }: Pick<HooksConfig, "mappings" | "waits">,
  findings: Findings,
): void {
  if (wait === undefined) return;
  const unknown = unknownHook(mappings, wait.condition);
  if (unknown !== undefined) findings.refuse(`${where}.respond.wait`, unknown.replace(/\.$/, ""));
  if (wait.wish.withinSeconds <= waits.maxDays * 86_400) return;
  findings.refuse(
    `${where}.respond.wait.withinSeconds`,
    `must not be longer than the ${waits.maxDays} days of hooks.waits.maxDays`,
  );
}

/** A placeholder without an end would be waited for as it is written. */
function checkTemplates({ wait }: MappingConfig, where: string, findings: Findings): void {
  const { note, correlation, all = [], any = [], none = [] } = wait!.wish;
  const values = [correlation, ...[...all, ...any, ...none].map((match) => match.correlation)];
  for (const template of [note, ...values.map((value) => value?.equals)]) {
    const unclosed = unclosedPlaceholder(template);
    if (unclosed === undefined) continue;
    findings.refuse(where, `the placeholder ${showValue(unclosed)} is not closed; end it with }}`);
  }
}
