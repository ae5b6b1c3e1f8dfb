/** An attempt for machines. */
import type { TransformAttempt } from "./attempt.ts";
import { isGood } from "./report.ts";

/** One JSON document, its line ended, in ASCII: a terminal obeys nothing of it. */
export function transformJson(attempt: TransformAttempt): string {
  const { module, chosen, input, isConfigured, isolation, memoryBytes, outcome, console: lines } = attempt;
  const { mapping, isMadeUp } = chosen;
  const tried = {
    ok: isGood(attempt),
    module: module.name,
    export: mapping.transform?.export ?? null,
    mapping: isMadeUp ? null : { id: mapping.id, where: mapping.where, namesModule: isConfigured },
    input: { source: input.source, bytes: input.body.length },
    isolation,
  };
  return asciiJson({ ...tried, ...jsonResult(outcome), console: lines, memoryBytes: memoryBytes ?? null });
}

/** An error for machines, when it did not come to an attempt. */
export function failureJson(error: string): string {
  return asciiJson({ ok: false, error });
}

function jsonResult(outcome: TransformAttempt["outcome"]): object {
  if (!outcome.ok) return { error: outcome.loadFailure };
  const { event, sender, deliveryId, filtered, calls, warmMs, actions, runs, ended, refused } = outcome.trial;
  return {
    event: event ?? null,
    sender: sender ?? null,
    deliveryId: deliveryId ?? null,
    filtered: filtered ?? null,
    calls: calls.map((call) =>
      call.ok ? { ms: call.ms, ...returned(call.value) } : { ms: call.ms, failed: call.reason },
    ),
    warmMs: warmMs ?? null,
    actions,
    runs: runs.map(({ spec, prompt }) => ({ ...spec, prompt })),
    ended: ended ?? null,
    refused: refused ?? null,
  };
}

/** `returned` is absent for `undefined`, and for what is no JSON, which a module in this process can return. */
function returned(value: unknown): object {
  try {
    JSON.stringify(value);
    return { returned: value };
  } catch {
    return {};
  }
}

function asciiJson(value: object): string {
  const json = JSON.stringify(value, undefined, 2);
  return `${json.replaceAll(/[\u007F-\uFFFF]/gu, escaped)}\n`;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
