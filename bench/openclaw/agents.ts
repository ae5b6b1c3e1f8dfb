/** Agent calls: how they are answered, and how many of their runs end. */
import { setTimeout } from "node:timers/promises";
import type { Answer, BenchHost } from "./bench-host.ts";
import { countStatuses, seconds } from "./finding.ts";
import type { Finding } from "./finding.ts";
import { untilQuiet } from "./quiet.ts";
import { BUILT_IN, REVEILLE, SIDES } from "./side.ts";
import type { Side } from "./side.ts";

export interface AgentsOptions {
  readonly concurrent: number;
  readonly inOneSession: number;
}

const MODEL_MS = 500;
const SLOW_MODEL_MS = 4_000;
/** Nothing more is expected after this: no run takes that long, and no caller waits that long. */
const QUIET_MS = 45_000;
/** So that the calls arrive in their order. */
const APART_MS = 500;
const SESSION_KEY = "hook:one";

interface Called {
  readonly accepted: number;
  readonly statuses: string;
  readonly medianMs: number;
  readonly p99Ms: number;
  /** Calls whose run the model has answered. */
  readonly ran: number;
  /** Calls whose reply has come to Telegram. */
  readonly delivered: number;
  /** True when runs began in the order of the calls, one after the other. */
  readonly inOrder: boolean;
  /** From the first call until the last reply. */
  readonly lastAfterMs: number;
}

export async function measureAgents(host: BenchHost, options: AgentsOptions): Promise<Finding[]> {
  const { concurrent, inOneSession } = options;
  host.model.delayMs = MODEL_MS;
  const many = `${concurrent} agent calls at once, model 0.5 s`;
  const inParallel = await experiment(many, concurrent, { config: {}, apartMs: 0 });
  host.model.delayMs = SLOW_MODEL_MS;
  const one = `${inOneSession} agent calls of one \`defaultSessionKey\`, model 4 s`;
  const config = { both: { defaultSessionKey: SESSION_KEY } };
  const ordered = await experiment(one, inOneSession, { config, apartMs: APART_MS });
  host.model.delayMs = 0;
  return [inParallel, ordered];

  async function experiment(
    name: string,
    count: number,
    { config, apartMs }: { config: object; apartMs: number },
  ): Promise<Finding> {
    const found: Partial<Record<Side["name"], Called>> = {};
    for (const side of SIDES) {
      await host.restart(config);
      found[side.name] = await call(host, side, { count, apartMs });
      console.error(`${name}, ${side.name}: ${JSON.stringify(found[side.name])}`);
    }
    const { [BUILT_IN.name]: builtIn, [REVEILLE.name]: reveille } = found as Record<Side["name"], Called>;
    const wants = apartMs > 0;
    return {
      experiment: name,
      builtIn: inWords(builtIn, wants),
      reveille: inWords(reveille, wants),
      failures: failuresOf(name, count, { called: reveille, wantsOrder: wants }),
      figures: found,
    };
  }
}

async function call(
  host: BenchHost,
  side: Side,
  { count, apartMs }: { count: number; apartMs: number },
): Promise<Called> {
  const words = Array.from({ length: count }, (_, at) => `${side.name}-${count}-${at}.`);
  const begunAt = performance.now();
  let answered = 0;
  let delivered = 0;
  let deliveredAt = begunAt;
  const sending = Promise.all(
    words.map(async (word, at) => {
      await setTimeout(at * apartMs);
      const message = `Carry on [say ${word}]`;
      const body = { message, name: word, deliver: true, channel: "telegram", to: "777" };
      return host.post(side, "/agent", body).finally(() => answered++);
    }),
  );
  const progress = (): number => {
    const now = new Set(messagesOf(host, words)).size;
    if (now > delivered) deliveredAt = performance.now();
    delivered = now;
    return answered + delivered;
  };
  await untilQuiet(progress, { quietMs: QUIET_MS, until: 2 * count });
  const answers = await sending;
  const begun = host.model.runs().filter(({ word }) => words.includes(word));
  const accepted = words.filter((_, at) => isAccepted(answers[at]));
  const times = answers.map(({ ms }) => ms).toSorted((left, right) => left - right);
  return {
    accepted: accepted.length,
    statuses: countStatuses(answers),
    medianMs: times[Math.floor(times.length / 2)] ?? Number.NaN,
    p99Ms: times[Math.ceil(times.length * 0.99) - 1] ?? Number.NaN,
    ran: new Set(begun.filter(({ isAnswered }) => isAnswered).map(({ word }) => word)).size,
    delivered,
    inOrder: begun.every(({ word, beganAt }, at) => {
      const before = begun[at - 1];
      if (before === undefined) return true;
      return words.indexOf(before.word) < words.indexOf(word) && (before.endedAt ?? Infinity) <= beganAt;
    }),
    lastAfterMs: deliveredAt - begunAt,
  };
}

function isAccepted(answer: Answer | undefined): boolean {
  return answer !== undefined && answer.status >= 200 && answer.status < 300;
}

/** Which of the words have come to Telegram; a word as often as it has come. */
function messagesOf(host: BenchHost, words: readonly string[]): string[] {
  const known = new Set(words);
  return host.botApi.sent.map(({ text }) => text.replace("Done: ", "")).filter((word) => known.has(word));
}

function inWords({ statuses, medianMs, p99Ms, ran, delivered, inOrder, lastAfterMs }: Called, order: boolean): string {
  const times = `median ${seconds(medianMs)}, p99 ${seconds(p99Ms)}`;
  const kept = order ? `, ${inOrder ? "in order" : "not in order"}` : "";
  return `answered ${statuses} (${times}); **${ran}** ran${kept}, ${delivered} delivered, the last after ${seconds(lastAfterMs)}`;
}

function failuresOf(
  name: string,
  count: number,
  { called, wantsOrder }: { called: Called; wantsOrder: boolean },
): string[] {
  const { accepted, ran, delivered, inOrder } = called;
  return [
    ...(accepted === count ? [] : [`${name}: Reveille has not accepted ${count - accepted} calls.`]),
    ...(ran === count ? [] : [`${name}: ${count - ran} calls of Reveille did not run.`]),
    ...(delivered === count ? [] : [`${name}: ${count - delivered} replies of Reveille were not delivered.`]),
    ...(inOrder || !wantsOrder ? [] : [`${name}: Reveille has not kept the order.`]),
  ];
}
