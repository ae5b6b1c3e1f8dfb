import { join } from "node:path";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { GatewayProcess } from "../integration/gateway-process.ts";
import { laneOf, marksIn, senderOf } from "./call-mark.ts";
import type { Mark } from "./call-mark.ts";
import { checkCoalescedCallsStand, checkNothingIsLost, checkNothingIsTwice } from "./check-calls.ts";
import { checkEventsArrive, checkRepliesArrive } from "./check-effects.ts";
import { checkDoubledRuns, checkFewAreCutOff, checkLaneOrder } from "./check-runs.ts";
import { collectEvidence } from "./collect-evidence.ts";
import type { Check, Evidence } from "./evidence.ts";
import { FAULT_VARIABLE } from "./fault-steps.ts";
import { planKills } from "./kill-plan.ts";
import type { PlannedKill } from "./kill-plan.ts";
import { ScriptedModel } from "./scripted-model.ts";
import { ScriptedReceiver } from "./scripted-receiver.ts";
import { SeededRandom } from "./seeded-random.ts";
import { TortureClients } from "./torture-clients.ts";
import { tortureConfig } from "./torture-config.ts";

export interface TortureOptions {
  readonly kills: number;
  /** Repeats the plan of kills and what is called; what is in progress at a kill is never quite the same. */
  readonly seed: number;
  /** Fault points; all of them when absent. */
  readonly points?: readonly string[];
  /** Of a PostgreSQL database with the tables; absent: the SQLite file. */
  readonly databaseUrl?: string;
  /** Told of each kill. */
  readonly onKill?: (kill: CarriedOutKill) => void;
}

export interface CarriedOutKill {
  readonly planned: PlannedKill;
  /** False when the process did not come to its fault point in time, and was killed from outside. */
  readonly reached: boolean;
}

export interface TortureResult {
  readonly evidence: Evidence;
  readonly kills: readonly CarriedOutKill[];
  /** Answers by status; `none` when the connection broke. */
  readonly answers: ReadonlyMap<string, number>;
  /** What went wrong by what was checked; all are empty when nothing did. */
  readonly violations: Readonly<Record<string, readonly string[]>>;
}

/** What is promised, and how it is looked at. */
export const CHECKS: Readonly<Record<string, Check>> = {
  "every 2xx is listed and comes to its end": checkNothingIsLost,
  "nothing is accepted twice": checkNothingIsTwice,
  "coalesced calls stand in their run": checkCoalescedCallsStand,
  "each lane keeps its order": checkLaneOrder,
  "what ran twice was under way at a kill": checkDoubledRuns,
  "a kill cuts off no more than may run at once": checkFewAreCutOff,
  "replies arrive": checkRepliesArrive,
  "events arrive": checkEventsArrive,
};

const PRELOAD = join(import.meta.dirname, "fault-points.ts");
/** How long a process that listens has to come to its fault point. */
const PATIENCE_MS = 30_000;
/** Accepted runs that the model has not been asked about, over which the senders wait. */
const MAX_BACKLOG = 150;
const DRAIN_MS = 300_000;
const MAX_LOG_CHARS = 4_000;

/** Kills a gateway under load again and again, lets it finish, and checks what it has promised. */
export async function torture(options: TortureOptions): Promise<TortureResult> {
  const random = new SeededRandom(options.seed);
  const asked = new Map<Mark, number>();
  const model = await ScriptedModel.listen(({ prompt, isTurn }) => {
    if (isTurn) return { reply: "HEARTBEAT_OK", delayMs: 20 };
    const [mark = "burst-0-0"] = marksIn(prompt);
    const time = (asked.get(mark) ?? 0) + 1;
    if (senderOf(mark) !== "burst") asked.set(mark, time);
    if (time <= refusalsOf(mark)) return { status: 503 };
    return { reply: senderOf(mark) === "report" ? `Read ${mark}, all is well.` : "NO_REPLY", delayMs: 10 };
  });
  const receiver = await ScriptedReceiver.listen(() => (random.next() < 0.15 ? 503 : 204));
  const gateway = new GatewayProcess(tortureConfig(model, receiver, options.databaseUrl));
  const clients = new TortureClients({
    url: () => gateway.url,
    isOverloaded: () => clients.runs.size - asked.size > MAX_BACKLOG,
    random,
  });
  try {
    const kills: CarriedOutKill[] = [];
    const killedAt: number[] = [];
    await gateway.start();
    clients.start();
    await sleep(500);
    await gateway.end("SIGKILL");
    await untilRead(model, receiver);
    killedAt.push(Date.now());
    for (const planned of planKills(options.kills, { random, ...options })) {
      const kill = { planned, reached: await carryOut(gateway, planned) };
      await untilRead(model, receiver);
      killedAt.push(Date.now());
      kills.push(kill);
      options.onKill?.(kill);
    }
    await gateway.start();
    await clients.finish();
    await gateway.settled(DRAIN_MS);
    const seen = { acknowledged: clients.acknowledged, modelCalls: model.calls, messages: receiver.messages, killedAt };
    const evidence = await collectEvidence(gateway, seen);
    return { evidence, kills, answers: clients.answers, violations: findViolations(evidence) };
  } finally {
    await gateway.close();
    model.close();
    receiver.close();
  }
}

/** What went wrong, by what was checked. */
export function findViolations(evidence: Evidence): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(Object.entries(CHECKS).map(([promise, check]) => [promise, check(evidence)]));
}

/**
 * A process that is dead may have sent what is not read yet, and what is read after its death would seem to
 * come from the next one. All of it has been read when its connections are gone.
 */
async function untilRead(...servers: readonly { connections(): Promise<number> }[]): Promise<void> {
  let open: readonly number[];
  do {
    await sleep(10);
    // Whoever had connected is let in meanwhile.
    for (let turn = 0; turn < 3; turn++) await nextTurn();
    open = await Promise.all(servers.map((server) => server.connections()));
  } while (open.some((count) => count > 0));
}

/** How often the model answers 503 before it takes a prompt: it is asked three times in one attempt. */
function refusalsOf(mark: Mark): number {
  if (senderOf(mark) !== "flaky") return 0;
  const number = Number(mark.slice(laneOf(mark).length + 1));
  return [3, 0, 1][number % 3]!;
}

/** Starts a process and sees it die; false when it did not come to its fault point. */
async function carryOut(gateway: GatewayProcess, planned: PlannedKill): Promise<boolean> {
  const env = planned.kind === "step" ? { [FAULT_VARIABLE]: planned.fault } : {};
  const listening = gateway.start({
    nodeArgs: ["--import", PRELOAD],
    env: { ...env, REVEILLE_LOG_LEVEL: "warn" },
  });
  const isFromStart = planned.kind === "time" && planned.after === "start";
  // One that dies before it listens has not started.
  const started = listening.catch(() => {});
  if (!isFromStart) await started;
  const ended = gateway.ended();
  await Promise.race([
    ended,
    sleep(planned.kind === "time" ? planned.afterMs : PATIENCE_MS, undefined, { ref: false }),
  ]);
  const died = !gateway.isRunning;
  await gateway.end("SIGKILL");
  await started;
  if (gateway.exitCode !== null) throw new Error(`The gateway ended by itself: ${gateway.log.slice(-MAX_LOG_CHARS)}`);
  return planned.kind === "time" || died;
}
