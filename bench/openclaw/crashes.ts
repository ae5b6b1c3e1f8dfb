/** SIGKILL with runs in progress: the outcome of accepted calls. */
import { setTimeout } from "node:timers/promises";
import type { BenchHost } from "./bench-host.ts";
import { CrashRecord } from "./crash-record.ts";
import type { CrashVerdict } from "./crash-record.ts";
import { countStatuses } from "./finding.ts";
import type { Finding } from "./finding.ts";
import { untilQuiet } from "./quiet.ts";
import { BUILT_IN, REVEILLE, SIDES } from "./side.ts";
import type { Side } from "./side.ts";

export interface CrashesOptions {
  readonly kills: number;
}

const CALLS = 5;
/** Longer than the built-in hooks let a caller wait, so that all accepted calls are in progress. */
const HELD_MS = 60_000;
/** The host takes up sessions of its own some seconds after its start. */
const RECOVERY_MS = 30_000;
const QUIET_MS = 60_000;

/** Of the kills in a row: four runs at once, the others wait. */
const CALLS_A_KILL = 6;
const CONCURRENCY = 4;
const MODEL_MS = 1_500;
const UNTIL_UNDER_WAY_MS = 20_000;
/** The kills come this long after the runs are in progress, in steps through a run's whole way. */
const SPREAD_MS = 3_000;
const STEP_MS = 410;

interface Once {
  readonly statuses: string;
  readonly accepted: number;
  /** Those that the model had not answered yet when the gateway was killed. */
  readonly underWay: number;
  /** Accepted calls that the model has answered, and those it has answered more than once. */
  readonly ran: number;
  readonly ranTwice: number;
  readonly delivered: number;
  /** Of Reveille alone: the other has no attempts to tell. */
  readonly verdict: CrashVerdict | undefined;
}

export async function measureCrashes(host: BenchHost, { kills }: CrashesOptions): Promise<Finding[]> {
  return [await killOnce(host), await killAgain(host, kills)];
}

async function killOnce(host: BenchHost): Promise<Finding> {
  const experiment = `${CALLS} accepted agent calls, SIGKILL, restart`;
  const found: Partial<Record<Side["name"], Once>> = {};
  for (const side of SIDES) {
    await host.restart({});
    host.model.delayMs = HELD_MS;
    const record = new CrashRecord(host.botApi.sent);
    const words = wordsOf(side, "once", CALLS);
    const answers = await Promise.all(words.map((word) => callFor(host, side, word)));
    const accepted = words.filter((_, at) => answers[at] === 200 || answers[at] === 202);
    const atOnce = Math.min(CONCURRENCY, accepted.length);
    await untilQuiet(() => host.model.underWay(), { quietMs: UNTIL_UNDER_WAY_MS, until: atOnce });
    const underWay = host.model.underWay();
    await host.kill();
    record.ended();
    host.model.delayMs = 500;
    await host.restart();
    await untilQuiet(() => deliveredOf(host, accepted), { quietMs: QUIET_MS, until: accepted.length });
    await setTimeout(RECOVERY_MS);
    record.close();
    found[side.name] = {
      statuses: countStatuses(answers.map((status) => ({ status }))),
      accepted: accepted.length,
      underWay,
      ...ranOf(host, accepted),
      delivered: deliveredOf(host, accepted),
      verdict: side === REVEILLE ? record.judge(accepted, host.model.runs()) : undefined,
    };
    console.error(`${experiment}, ${side.name}: ${JSON.stringify(found[side.name])}`);
  }
  const { [BUILT_IN.name]: builtIn, [REVEILLE.name]: reveille } = found as Record<Side["name"], Once>;
  return {
    experiment,
    builtIn: onceInWords(builtIn),
    reveille: onceInWords(reveille),
    failures: [
      ...(reveille.accepted === CALLS ? [] : [`${experiment}: Reveille has not accepted all calls.`]),
      ...(reveille.verdict === undefined ? [] : failuresOf(experiment, reveille.verdict)),
    ],
    figures: found,
  };
}

/** Kills the gateway again and again while calls arrive; only Reveille's, since the other has kept none. */
async function killAgain(host: BenchHost, kills: number): Promise<Finding> {
  const experiment = `${kills} SIGKILLs in a row, agent calls under way and waiting each time`;
  host.model.delayMs = MODEL_MS;
  await host.restart({ reveille: { concurrency: CONCURRENCY } });
  const record = new CrashRecord(host.botApi.sent);
  const accepted: string[] = [];
  let refused = 0;
  let underWay = 0;
  let idleKills = 0;
  for (let kill = 0; kill < kills; kill++) {
    const words = wordsOf(REVEILLE, `kill-${kill}`, CALLS_A_KILL);
    const answers = await Promise.all(words.map((word) => callFor(host, REVEILLE, word)));
    accepted.push(...words.filter((_, at) => answers[at] === 202));
    refused += answers.filter((status) => status !== 202).length;
    await untilQuiet(() => host.model.underWay(), { quietMs: UNTIL_UNDER_WAY_MS, until: CONCURRENCY });
    await setTimeout((kill * STEP_MS) % SPREAD_MS);
    // The last call may have ended in that time, and the next not have begun.
    await untilQuiet(() => host.model.underWay(), { quietMs: UNTIL_UNDER_WAY_MS, until: 1 });
    const cutOff = host.model.underWay();
    underWay += cutOff;
    if (cutOff === 0) idleKills++;
    await host.kill();
    record.ended();
    await host.restart();
    console.error(
      `kill ${kill + 1} of ${kills}: ${accepted.length} accepted, ${deliveredOf(host, accepted)} delivered`,
    );
  }
  await untilQuiet(() => deliveredOf(host, accepted), { quietMs: QUIET_MS, until: accepted.length });
  await setTimeout(RECOVERY_MS);
  record.close();
  host.model.delayMs = 0;
  const verdict = record.judge(accepted, host.model.runs());
  const { lost, rerun, rerunAfterAnswer, sentAgain, doubled } = verdict;
  const again = `${rerun} attempts that a kill cut off were run again (${rerunAfterAnswer} of them answered by the model already), ${sentAgain} replies on their way at a kill were sent again`;
  return {
    experiment,
    builtIn: "not measured; see the row above",
    reveille: `${accepted.length} accepted, ${underWay} in the model at the kills, **${lost.length}** lost, **${doubled.length}** run or sent twice otherwise; ${again}`,
    failures: [
      ...failuresOf(experiment, verdict),
      ...(idleKills === 0 ? [] : [`${experiment}: ${idleKills} kills found no run under way.`]),
      ...(refused === 0 ? [] : [`${experiment}: ${refused} calls were not accepted.`]),
    ],
    figures: { ...verdict, refused, underWay },
  };
}

async function callFor(host: BenchHost, side: Side, word: string): Promise<number> {
  const call = { message: `Carry on [say ${word}]`, name: word, deliver: true, channel: "telegram", to: "777" };
  return (await host.post(side, "/agent", call)).status;
}

function wordsOf(side: Side, what: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${side.name}-${what}-${at}.`);
}

function deliveredOf(host: BenchHost, words: readonly string[]): number {
  const texts = new Set(host.botApi.sent.map(({ text }) => text));
  return words.filter((word) => texts.has(`Done: ${word}`)).length;
}

function ranOf(host: BenchHost, words: readonly string[]): { ran: number; ranTwice: number } {
  const answered = host.model.runs().filter(({ isAnswered }) => isAnswered);
  const counts = words.map((word) => answered.filter((run) => run.word === word).length);
  return { ran: counts.filter((count) => count > 0).length, ranTwice: counts.filter((count) => count > 1).length };
}

function onceInWords({ statuses, accepted, underWay, ran, ranTwice, delivered }: Once): string {
  const twice = ranTwice === 0 ? "none twice" : `${ranTwice} twice`;
  return `answered ${statuses}; of ${accepted} accepted (${underWay} in the model at the kill) **${ran}** ran to the end (${twice}), ${delivered} delivered`;
}

function failuresOf(experiment: string, { lost, doubled }: CrashVerdict): string[] {
  return [
    ...(lost.length === 0 ? [] : [`${experiment}: lost ${lost.join(", ")}.`]),
    ...doubled.map((sentence) => `${experiment}: ${sentence}`),
  ];
}
