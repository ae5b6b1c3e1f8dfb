import type { Wait, WaitMatch } from "../../core/wait.ts";
import { quietUntil } from "./progress.ts";

/** Why a wait has not been fulfilled yet, one sentence each; `seen` is what has come. */
export function explainWait(wait: Wait): readonly string[] {
  const { all, any, none, quietSince, quietMs, until } = wait;
  const lines = [
    ...all.map((match, index) => `${wordMatch(match)} ${cameAt(wait, "all", index) ?? "has not come yet"}.`),
    ...(any.length === 0 ? [] : [anyLine(wait)]),
  ];
  if (none.length > 0) {
    const excluded = none.map(wordMatch).join(" or ");
    const seconds = quietMs / 1_000;
    const by = quietUntil(wait);
    lines.push(
      quietSince === null
        ? `After that, no ${excluded} for ${seconds} seconds.`
        : `No ${excluded} since ${iso(quietSince)}: ${by === undefined ? "the deadline comes before" : `fulfilled at ${iso(by)}`}, unless one comes.`,
    );
  }
  const maker = wait.mapping === undefined ? [] : [`An event of the mapping ${wait.mapping} made it.`];
  return [...lines, `The deadline is ${iso(until)}.`, ...maker];
}

function anyLine(wait: Wait): string {
  const { any } = wait;
  const at = any.findIndex((_, index) => cameAt(wait, "any", index) !== undefined);
  if (at !== -1) return `${wordMatch(any[at]!)} ${cameAt(wait, "any", at)}.`;
  return `None of ${any.map(wordMatch).join(", ")} has come yet.`;
}

function cameAt({ seen }: Wait, list: "all" | "any", index: number): string | undefined {
  const event = seen.find((each) => each.list === list && each.index === index);
  return event && `came at ${iso(event.at)} (${event.hook})`;
}

/** `workflow_run.completed of github with deployment.id = 7, when payload.ok`. */
function wordMatch({ hook, sender, event = "a call", when, correlation }: WaitMatch): string {
  const value = correlation === undefined ? "" : ` with ${correlation.path} = ${correlation.equals}`;
  return `${event} of ${hook ?? sender}${value}${when === undefined ? "" : ` when ${when}`}`;
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
