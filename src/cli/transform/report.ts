/** An attempt in words. Text from a payload or a module is made printable here. */
import { inspect } from "node:util";
import type { Action } from "../../core/delivery.ts";
import type { AgentSpec } from "../../core/run.ts";
import { printable, printableLines } from "../terminal-text.ts";
import type { TransformAttempt } from "./attempt.ts";
import type { Trial, TrialCall, TrialRun } from "./trial.ts";

const LABEL_CHARS = 12;
const TEXT_CHARS = 200;
const VALUE_CHARS = 4_000;

/** The attempt and its result as text, its lines ended. */
export function transformReport(attempt: TransformAttempt): string {
  const lines = [...headOf(attempt), ...resultOf(attempt), ...consoleOf(attempt), ...figuresOf(attempt)];
  return `${lines.join("\n")}\n`;
}

/** True unless the module failed, or its result is refused. */
export function isGood({ outcome }: TransformAttempt): boolean {
  if (!outcome.ok) return false;
  const { calls, refused, ended } = outcome.trial;
  return calls.every(({ ok }) => ok) && refused === undefined && ended?.state !== "failed";
}

function headOf({ module, chosen, isConfigured, input }: TransformAttempt): string[] {
  const { mapping, isMadeUp } = chosen;
  const made = mapping.preset === undefined ? "a plain agent mapping" : `one with the preset ${mapping.preset}`;
  const of = isMadeUp
    ? `none names the module; ${made} is used instead`
    : `${mapping.id} (${mapping.where})${isConfigured ? "" : ", which does not name the module; it is tried as if it did"}`;
  return [
    ...line(
      "module",
      `${module.name}${mapping.transform?.export === undefined ? "" : `, export ${mapping.transform.export}`}`,
    ),
    ...line("mapping", of),
    ...line("input", `${input.source}, ${bytes(input.body.length)}`),
  ];
}

function resultOf({ outcome }: TransformAttempt): string[] {
  if (!outcome.ok) return ["", "The module cannot be loaded:", ...indented(outcome.loadFailure)];
  const { trial } = outcome;
  return [
    ...line("event", trial.event),
    ...line("actor", trial.actor),
    ...line("delivery id", trial.deliveryId),
    ...(trial.filtered === undefined
      ? []
      : line("filtered", `the gateway would not have called it: ${trial.filtered}`)),
    ...trial.calls.flatMap((call, at) => returnedBy(call, trial.calls.length === 1 ? "" : ` ${at + 1}`)),
    ...endOf(trial),
    ...trial.runs.flatMap((run, at) => linesOfRun(run, `${at + 1} of ${trial.runs.length}`)),
  ];
}

function returnedBy(call: TrialCall, number: string): string[] {
  if (!call.ok) return ["", `The transform ${printableLines(call.reason)}.`];
  const { value } = call;
  if (value === undefined) return line(`returned${number}`, "undefined: the mapping's own action");
  if (value === null) return line(`returned${number}`, "null: skip");
  const text = jsonText(value);
  const cut = text.length > VALUE_CHARS ? `${text.slice(0, VALUE_CHARS).toWellFormed()}…` : text;
  return [`returned${number}`, ...indented(cut)];
}

/** In this process a module can return what is no JSON. */
function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value, undefined, 2);
  } catch {
    return inspect(value);
  }
}

function endOf({ refused, ended, actions, calls }: Trial): string[] {
  const failed = calls.some(({ ok }) => !ok);
  if (refused) {
    const each = actions.flatMap((action, at) => linesOfAction(action, `${at + 1} of ${actions.length}`));
    return [
      ...each,
      "",
      `The gateway would refuse it with ${refused.status} ${refused.code}: ${printable(refused.message)}`,
    ];
  }
  if (ended === undefined || failed) return [];
  return ["", `No run: the delivery would be recorded as ${ended.state} (${printable(ended.reason)}).`];
}

function linesOfRun(run: TrialRun, number: string): string[] {
  const { action, spec, prompt } = run;
  return [
    ...linesOfAction(action, number),
    "",
    "run",
    ...fieldLines(runFields(run)),
    "",
    spec.kind === "agent" && spec.mode === "deliver" ? "what is delivered" : "what the agent reads",
    ...printableLines(prompt)
      .split("\n")
      .map((text) => `  | ${text}`.trimEnd()),
  ];
}

function linesOfAction(action: Action, number: string): string[] {
  return ["", `action ${number}`, ...fieldLines(Object.entries(action))];
}

function runFields({ spec, action }: TrialRun): [string, unknown][] {
  const shared: [string, unknown][] = [
    ["agent", spec.agentId],
    ["session", spec.sessionKey],
    ["boundary", spec.unsafe ? "none (allowUnsafeExternalContent)" : `from ${spec.source}`],
  ];
  if (spec.kind === "wake") return shared;
  return [
    ...shared,
    ["model", spec.model],
    ["timeout", `${spec.timeoutMs / 1_000} s`],
    ["reply to", replyTo(spec, action)],
  ];
}

function replyTo({ delivery }: AgentSpec, action: Action): string {
  if (delivery === undefined) return "none: deliver is false";
  const target = "unresolved" in delivery ? `none: ${delivery.unresolved}` : `${delivery.to} on ${delivery.channel}`;
  const isFixed = action.kind === "agent" && action.channel !== "last" && action.to !== undefined;
  return isFixed ? target : `${target} (unless the agent's last conversation says otherwise)`;
}

function fieldLines(fields: readonly (readonly [string, unknown])[]): string[] {
  const known = fields.filter(([, value]) => value !== undefined);
  const width = Math.max(...known.map(([name]) => name.length)) + 2;
  return known.map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return `  ${name.padEnd(width)}${printable(text, TEXT_CHARS)}`;
  });
}

function consoleOf({ console: lines }: TransformAttempt): string[] {
  if (lines.length === 0) return [];
  return ["", "console", ...lines.flatMap(({ level, text }) => indented(`${level.padEnd(6)}${text}`))];
}

function figuresOf({ outcome, isolation, memoryBytes }: TransformAttempt): string[] {
  if (!outcome.ok) return [];
  const { calls, warmMs } = outcome.trial;
  const [first] = calls;
  const times = first && `${ms(first.ms)}${warmMs === undefined ? "" : ` for the first call, ${ms(warmMs)} once warm`}`;
  const memory = memoryBytes === undefined ? undefined : `${mebibytes(memoryBytes)} in its process`;
  return [
    "",
    ...line("time", times),
    ...line("memory", isolation === "none" ? "not known: hooks.transforms.isolation is none" : memory),
  ];
}

function indented(text: string): string[] {
  return printableLines(text)
    .split("\n")
    .map((each) => `  ${each}`);
}

function line(label: string, value: string | undefined): string[] {
  return value === undefined ? [] : [`${label.padEnd(LABEL_CHARS)}${printable(value)}`];
}

function ms(value: number): string {
  return `${value < 10 ? value.toFixed(2) : Math.round(value).toLocaleString("en-US")} ms`;
}

function bytes(count: number): string {
  return `${count.toLocaleString("en-US")} byte${count === 1 ? "" : "s"}`;
}

function mebibytes(count: number): string {
  return `${(count / 1_048_576).toFixed(1)} MiB`;
}

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
  const { event, actor, deliveryId, filtered, calls, warmMs, actions, runs, ended, refused } = outcome.trial;
  return {
    event: event ?? null,
    actor: actor ?? null,
    // The earlier name.
    sender: actor ?? null,
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
