/** Wakes: how many of their texts reach the model. */
import { setTimeout } from "node:timers/promises";
import type { BenchHost } from "./bench-host.ts";
import { countStatuses, seconds } from "./finding.ts";
import type { Finding } from "./finding.ts";
import { untilQuiet } from "./quiet.ts";
import type { Counted } from "./quiet.ts";
import { BUILT_IN, REVEILLE, SIDES } from "./side.ts";
import type { Side } from "./side.ts";

export interface WakesOptions {
  readonly burst: number;
  readonly paced: number;
}

/** More than the minute in which the host lets an agent begin five turns. */
const QUIET_MS = 90_000;
const PACE_MS = 500;
const KEPT = 5;
/** What the answers of a stop do not tell: how long the host takes to look at what it was given. */
const BEFORE_STOP_MS = 2_000;
const AFTER_START_MS = 30_000;

interface Reached extends Counted {
  readonly statuses: string;
}

export async function measureWakes(host: BenchHost, { burst, paced }: WakesOptions): Promise<Finding[]> {
  return [
    await experiment(`${burst} wakes at once`, burst, (side) => inBurst(host, side, burst)),
    await experiment(`${paced} wakes, two in a second`, paced, (side) => atPace(host, side, paced), "the last call"),
    await experiment(`${KEPT} \`next-heartbeat\` wakes, clean restart, one wake \`now\``, KEPT, (side) =>
      overRestart(host, side),
    ),
  ];

  async function experiment(
    name: string,
    count: number,
    run: (side: Side) => Promise<Reached>,
    since = "the first call",
  ): Promise<Finding> {
    const found: Partial<Record<Side["name"], Reached>> = {};
    for (const side of SIDES) {
      await host.restart({});
      found[side.name] = await run(side);
      console.error(`${name}, ${side.name}: ${JSON.stringify(found[side.name])}`);
    }
    const { [BUILT_IN.name]: builtIn, [REVEILLE.name]: reveille } = found as Record<Side["name"], Reached>;
    const lost = count - reveille.count;
    const failures = lost === 0 ? [] : [`${name}: ${lost} texts did not reach the model through Reveille.`];
    return {
      experiment: name,
      builtIn: inWords(builtIn, since),
      reveille: inWords(reveille, since),
      failures,
      figures: found,
    };
  }

  function inWords({ count, lastAfterMs, statuses }: Reached, since: string): string {
    const when = count === 0 ? "" : `, the last ${seconds(lastAfterMs)} after ${since}`;
    return `answered ${statuses}; **${count}** reached the model${when}`;
  }
}

async function inBurst(host: BenchHost, side: Side, count: number): Promise<Reached> {
  const texts = textsOf(side, "burst", count);
  const from = host.model.calls.length;
  const sending = Promise.all(texts.map((text) => host.post(side, "/wake", { text })));
  const reached = await untilQuiet(countReached(host, texts, from), { quietMs: QUIET_MS, until: count });
  return { ...reached, statuses: countStatuses(await sending) };
}

async function atPace(host: BenchHost, side: Side, count: number): Promise<Reached> {
  const texts = textsOf(side, "paced", count);
  const from = host.model.calls.length;
  const sending = Promise.all(
    texts.map(async (text, at) => {
      await setTimeout(at * PACE_MS);
      return host.post(side, "/wake", { text });
    }),
  );
  const reached = await untilQuiet(countReached(host, texts, from), { quietMs: QUIET_MS, until: count });
  const answers = await sending;
  const lastAfterMs = Math.max(0, reached.lastAfterMs - (count - 1) * PACE_MS);
  return { count: reached.count, lastAfterMs, statuses: countStatuses(answers) };
}

async function overRestart(host: BenchHost, side: Side): Promise<Reached> {
  const texts = textsOf(side, "kept", KEPT);
  const from = host.model.calls.length;
  const answers = [];
  for (const text of texts) answers.push(await host.post(side, "/wake", { text, mode: "next-heartbeat" }));
  await setTimeout(BEFORE_STOP_MS);
  if (!(await host.restart())) throw new Error("The gateway was to stop in order, and did not.");
  const now = `${side.name}-after-restart.`;
  await host.post(side, "/wake", { text: now });
  const all = countReached(host, [...texts, now], from);
  const { lastAfterMs } = await untilQuiet(all, { quietMs: AFTER_START_MS, until: KEPT + 1 });
  return { count: countReached(host, texts, from)(), lastAfterMs, statuses: countStatuses(answers) };
}

/** Texts of which none is a part of another. */
function textsOf(side: Side, what: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${side.name}-${what}-${at}.`);
}

/** Counts how many of the texts calls of the model have had since `from`; each call is looked at once. */
function countReached(host: BenchHost, texts: readonly string[], from: number): () => number {
  const missing = new Set(texts);
  let next = from;
  return () => {
    for (; next < host.model.calls.length; next++) {
      const { prompt } = host.model.calls[next] ?? { prompt: "" };
      for (const text of missing) if (prompt.includes(text)) missing.delete(text);
    }
    return texts.length - missing.size;
  };
}
