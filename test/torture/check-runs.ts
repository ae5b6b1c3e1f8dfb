import type { DeliveryDetail } from "../../src/core/delivery.ts";
import type { RunDetail } from "../../src/core/run.ts";
import { laneOf, marksIn, senderOf } from "./call-mark.ts";
import type { Mark } from "./call-mark.ts";
import { groupBy, wasKilledBetween } from "./evidence.ts";
import type { Check, Evidence } from "./evidence.ts";
import type { ModelCall } from "./scripted-model.ts";
import { CONCURRENCY } from "./torture-config.ts";

/** Says in a prompt that an earlier attempt was in progress when the process died. */
export const WARNING = "may already have taken effect";

interface AgentRun {
  readonly run: RunDetail;
  readonly delivery: DeliveryDetail;
  readonly mark: Mark;
}

/** Runs of an agent that stand for one call, in order of acceptance. */
function plainRuns({ deliveries }: Evidence): AgentRun[] {
  return deliveries.flatMap((delivery) =>
    delivery.runs.flatMap((run) => {
      const mark = run.spec.kind === "agent" ? marksIn(run.spec.message)[0] : undefined;
      return mark === undefined || senderOf(mark) === "burst" ? [] : [{ run, delivery, mark }];
    }),
  );
}

/** What the model was asked for a run that stands for one call. */
function callsByMark({ modelCalls }: Evidence): Map<Mark, ModelCall[]> {
  const runs = modelCalls.filter(({ isTurn }) => !isTurn);
  return groupBy(runs, ({ prompt }) => marksIn(prompt)[0]);
}

/** Within a lane, runs are begun in the order in which their calls were accepted. */
export const checkLaneOrder: Check = (evidence) => {
  const begun = groupBy(callsByMark(evidence).keys(), (mark) => laneOf(mark));
  const accepted = groupBy(
    plainRuns(evidence).map(({ mark }) => mark),
    laneOf,
  );
  return [...accepted].flatMap(([lane, marks]) => {
    const order = begun.get(lane) ?? [];
    const at = marks.findIndex((mark, index) => mark !== order[index]);
    return at < 0 ? [] : [`In the lane ${lane}, ${order[at]} was begun when it was the turn of ${marks[at]}.`];
  });
};

/** What ran twice was in progress when the process died, or was tried again after a failure that allows it. */
export const checkDoubledRuns: Check = (evidence) => {
  const calls = callsByMark(evidence);
  return plainRuns(evidence).flatMap(({ run, mark }) => {
    const asked = calls.get(mark) ?? [];
    const problems: string[] = [];
    const last = run.attempts.at(-1);
    if (last?.status !== "ok") problems.push(`its last attempt is ${last?.status}`);
    for (const { number, status, startedAt, endedAt } of run.attempts.slice(0, -1)) {
      const until = endedAt === null ? Infinity : Date.parse(endedAt);
      if (status === "interrupted" && !wasKilledBetween(evidence, Date.parse(startedAt), until)) {
        problems.push(`attempt ${number} is interrupted though no process died between ${startedAt} and ${endedAt}`);
      }
      if (status === "error" && senderOf(mark) !== "flaky") problems.push(`attempt ${number} failed`);
      if (status !== "interrupted" && status !== "error") problems.push(`attempt ${number} is ${status}`);
    }
    if (asked.length === 0) problems.push("the model was never asked");
    // The endpoint of a flaky one refuses some of the requests, which are made again.
    if (senderOf(mark) !== "flaky") problems.push(...unwarned(run, asked));
    return problems.map((problem) => `${run.id} (${mark}): ${problem}.`);
  });
};

/** A kill cuts off no more runs than may be in progress at once. */
export const checkFewAreCutOff: Check = ({ deliveries, killedAt }) => {
  const cutOff = deliveries.flatMap(({ runs }) =>
    runs.flatMap(({ attempts }) => attempts.filter(({ status }) => status === "interrupted")),
  );
  const byKill = groupBy(cutOff, ({ startedAt }) => killedAt.find((at) => at >= Date.parse(startedAt)));
  return [...byKill].flatMap(([at, attempts]) =>
    attempts.length <= CONCURRENCY ? [] : [`${attempts.length} runs were cut off at ${new Date(at).toISOString()}.`],
  );
};

function unwarned({ attempts }: RunDetail, asked: readonly ModelCall[]): string[] {
  const interrupted = attempts.filter(({ status }) => status === "interrupted").length;
  const again = asked.slice(1);
  return [
    ...(again.length > interrupted
      ? [`the model was asked ${asked.length} times for ${attempts.length} attempts`]
      : []),
    ...(again.some(({ prompt }) => !prompt.includes(WARNING)) ? ["a second attempt's prompt does not say so"] : []),
  ];
}
