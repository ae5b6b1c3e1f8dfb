import { readCondition } from "../condition-syntax.ts";
import type { Findings } from "../errors.ts";
import { checkBudget } from "../budget.ts";
import type { MappingConfig } from "./schema.ts";
import { CAPITALS } from "./placeholders.ts";
import { checkWaitMaking } from "./wait-rules.ts";

/** Keys of {@link "../run".RUN_KEYS} that only a run of an agent reads. */
const AGENT_ONLY = ["order", "overlap", "priority", "concurrency", "fallback"] as const;
/** Keys that only a turn of an agent reads. */
const TURN_ONLY = ["model", "thinking", "timeoutSeconds", "sessionMode", "interrupted"] as const;

/**
 * Checks the run keys of one mapping; `written` are the keys that its author wrote.
 */
export function checkRunKeys(mapping: MappingConfig, written: object, findings: Findings): void {
  checkWhen(mapping, findings);
  checkCoalesce(mapping, findings);
  checkRespond(mapping, written, findings);
  checkWaitMaking(mapping, findings);
  checkMode(mapping, findings);
  checkBudget(mapping.budget, `${mapping.where}.budget`, findings);
  warnOfUnread(mapping, written, findings);
}

/** Refuses a `when` that is no condition. */
export function checkWhen({ where, when }: MappingConfig, findings: Findings): void {
  if (when === undefined) return;
  const syntax = readCondition(when);
  if (!syntax.ok) findings.refuse(`${where}.when`, syntax.problem);
  else if (syntax.reads.some(([root, name]) => root === "headers" && /[A-Z]/.test(String(name)))) {
    findings.warn(`${where}.when`, CAPITALS);
  }
}

function checkCoalesce({ where, coalesce, forEach, overlap, maxAgeMs }: MappingConfig, findings: Findings): void {
  if (coalesce === undefined) return;
  if (forEach !== undefined) {
    findings.refuse(`${where}.coalesce`, "cannot be used together with forEach, which makes several runs of one call");
  }
  if (overlap !== "queue") {
    findings.refuse(`${where}.coalesce`, `cannot be used together with overlap: "${overlap}"; leave one of them out`);
  }
  if (coalesce.maxWaitMs < coalesce.windowMs) {
    findings.refuse(`${where}.coalesce.maxWaitSeconds`, "must not be less than windowSeconds");
  } else if (maxAgeMs !== undefined && maxAgeMs <= coalesce.maxWaitMs) {
    findings.refuse(
      `${where}.maxAgeSeconds`,
      `must be more than the ${coalesce.maxWaitMs / 1_000} seconds that coalesce may delay a run, or none would begin`,
    );
  }
}

function checkRespond({ where, action, respond, waitMs }: MappingConfig, written: object, findings: Findings): void {
  if (respond.kind === "result" && action === "wake") {
    findings.refuse(`${where}.respond`, 'cannot be "result" with the action wake, which has none');
  }
  if (waitMs !== undefined && respond.kind !== "result" && Object.hasOwn(written, "waitSeconds")) {
    findings.warn(`${where}.waitSeconds`, 'has no effect without respond: "result"');
  }
}

function checkMode({ where, mode, action, deliver }: MappingConfig, findings: Findings): void {
  if (mode !== "deliver") return;
  if (action === "wake") findings.refuse(`${where}.mode`, "cannot be deliver with the action wake");
  else if (!deliver) findings.refuse(`${where}.mode`, "cannot be deliver while deliver is false");
}

function warnOfUnread(mapping: MappingConfig, written: object, findings: Findings): void {
  const { where, action, transform, mode, fallback, deliver } = mapping;
  const warn = (keys: readonly string[], why: string): void => {
    for (const key of keys) {
      if (Object.hasOwn(written, key)) findings.warn(`${where}.${key}`, `has no effect ${why}`);
    }
  };
  if (action === "wake" && !transform) warn(AGENT_ONLY, "with the action wake");
  if (mode === "deliver") warn(TURN_ONLY, "with mode: deliver, which runs no agent");
  if (fallback !== undefined && !deliver && action === "agent") warn(["fallback"], "while deliver is false");
}
