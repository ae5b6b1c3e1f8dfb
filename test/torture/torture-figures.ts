import type { TortureResult } from "./torture.ts";

/** The figures of a torture as lines of text. */
export function tortureFigures({ evidence, kills, answers }: TortureResult): readonly string[] {
  const { acknowledged, deliveries, modelCalls, messages } = evidence;
  const runs = deliveries.flatMap(({ runs }) => runs);
  const attempts = runs.flatMap(({ attempts }) => attempts);
  const atStep = kills.filter(({ planned, reached }) => planned.kind === "step" && reached);
  const missed = kills
    .filter(({ reached }) => !reached)
    .map(({ planned }) => (planned.kind === "step" ? planned.point : ""));
  const gatherers = runs.filter(({ calls }) => calls > 1);
  const taken = messages.filter(({ status }) => status < 300);
  const isInterrupted = ({ status }: { status: string }): boolean => status === "interrupted";
  return [
    `kills                     ${kills.length}: ${atStep.length} at a named step, ${kills.length - atStep.length} at a time`,
    `steps that were not met   ${missed.join(", ") || "none"}`,
    `answers                   ${tally(answers)}`,
    `calls acknowledged        ${acknowledged.length}, of ${new Set(acknowledged.map(({ call }) => call.marks[0])).size} events`,
    `deliveries                ${deliveries.length}: ${tally(countBy(deliveries.map(({ state }) => state)))}`,
    `runs                      ${runs.length}: ${tally(countBy(runs.map(({ state }) => state)))}`,
    `attempts                  ${attempts.length}: ${tally(countBy(attempts.map(({ status }) => status)))}`,
    `runs begun twice or more  ${runs.filter((run) => run.attempts.some(isInterrupted)).length}, each under way at a kill`,
    `bursts                    ${gatherers.reduce((sum, { calls }) => sum + calls, 0)} calls in ${gatherers.length} runs`,
    `asked of the model        ${modelCalls.filter(({ isTurn }) => !isTurn).length} for runs, ${modelCalls.filter(({ isTurn }) => isTurn).length} turns`,
    `replies delivered         ${new Set(taken.map(({ webhookId }) => webhookId)).size}, ${messages.length - taken.length} refusals, ${taken.length - new Set(taken.map(({ webhookId }) => webhookId)).size} a second time across a kill`,
  ];
}

function countBy(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function tally(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([word, count]) => `${count} ${word}`).join(", ");
}
