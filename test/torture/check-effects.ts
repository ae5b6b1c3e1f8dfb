import { marksIn, senderOf } from "./call-mark.ts";
import type { Mark } from "./call-mark.ts";
import { groupBy, wasKilledBetween } from "./evidence.ts";
import type { Check, Evidence } from "./evidence.ts";

/** The summary of a run in the main session. */
const SUMMARY = /\bHook \\?"([a-z]+-\d+-\d+)\\?": /g;

/** Every reply that was asked for arrived; a second time only across a kill, under the same id. */
export const checkRepliesArrive: Check = (evidence) => {
  const taken = evidence.messages.filter(({ status }) => status < 300);
  const byMark = groupBy(taken, ({ text }) => marksIn(text)[0]);
  return evidence.deliveries.flatMap(({ mappingId, runs }) => {
    const run = mappingId === "report" ? runs[0] : undefined;
    if (run?.spec.kind !== "agent") return [];
    const mark = marksIn(run.spec.message)[0]!;
    const messages = byMark.get(mark) ?? [];
    const problems: string[] = [];
    if (run.delivery !== "sent") problems.push(`is ${run.delivery}`);
    if (messages.length === 0) problems.push("never arrived");
    if (new Set(messages.map(({ webhookId }) => webhookId)).size > 1) problems.push("came under several ids");
    problems.push(
      ...unexplained(
        evidence,
        messages.map(({ at }) => at),
      ),
    );
    return problems.map((problem) => `The reply to ${mark} ${problem}.`);
  });
};

/** Every wake and every summary came to the main session; before a second turn only when the first was cut off. */
export const checkEventsArrive: Check = (evidence) => {
  const sightings = new Map<string, number[]>();
  const see = (text: string, at: number): void => {
    for (const event of eventsIn(text)) sightings.set(event, [...(sightings.get(event) ?? []), at]);
  };
  for (const { isTurn, prompt, at } of evidence.modelCalls) if (isTurn) see(prompt, at);
  for (const text of evidence.pendingEvents) see(text, Infinity);
  return expectedEvents(evidence).flatMap((event) => {
    const times = sightings.get(event) ?? [];
    const problems = times.length === 0 ? ["never came"] : unexplained(evidence, times);
    return problems.map((problem) => `The event "${event}" ${problem}.`);
  });
};

function expectedEvents({ deliveries }: Evidence): string[] {
  return deliveries.flatMap(({ runs }) =>
    runs.flatMap(({ spec }) => {
      const mark = marksIn(spec.kind === "wake" ? spec.text : spec.message)[0]!;
      // The name of a run that coalesced is that of one of its calls.
      if (senderOf(mark) === "burst") return [];
      return [spec.kind === "wake" ? mark : `Hook ${mark}`];
    }),
  );
}

function eventsIn(text: string): ReadonlySet<string> {
  const summaries = [...text.matchAll(SUMMARY)].map(([, mark]) => `Hook ${mark}`);
  const wakes = marksIn(text).filter((mark: Mark) => senderOf(mark) === "wake");
  return new Set([...summaries, ...wakes]);
}

/** Something that came again though no process died in between. */
function unexplained(evidence: Evidence, times: readonly number[]): string[] {
  return times.slice(1).flatMap((at, before) => {
    const earlier = times[before]!;
    return wasKilledBetween(evidence, earlier, at) ? [] : [`came again ${at - earlier} ms later, and nothing had died`];
  });
}
