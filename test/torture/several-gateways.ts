/**
 * Several gateways on one PostgreSQL under load, while one after the other is killed, frozen or cut off from the
 * database, mostly the one that carries out the runs. Then it looks for every acknowledged call.
 */
import { readdirSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { DeliverySummary } from "../../src/core/delivery.ts";
import { DatabaseProxy } from "../fixtures/postgres/proxy.ts";
import { runSql } from "../fixtures/postgres/run-sql.ts";
import { GatewayProcess, HOOK_TOKEN } from "../integration/gateway-process.ts";
import { ModelEndpoint } from "../integration/model-endpoint.ts";
import { isConversation, SeveralClients } from "./several-clients.ts";
import { SeededRandom } from "./seeded-random.ts";

export const FAULTS = ["SIGKILL", "SIGSTOP", "cut"] as const;
export type Fault = (typeof FAULTS)[number];

export interface SeveralOptions {
  readonly databaseUrl: string;
  readonly gateways: number;
  /** In order. */
  readonly faults: readonly Fault[];
  readonly seed: number;
  readonly onFault?: (hit: Hit) => void;
}

/** One fault, with its beginning and end on the clock of this process. */
export interface Hit {
  readonly fault: Fault;
  /** True: of the gateway with the runs. */
  readonly isLead: boolean;
  readonly from: number;
  readonly to: number;
}

/** What a session had waited before the fault is not of it. Times are since the fault. */
export interface Pause {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface SeveralResult {
  readonly hits: readonly Hit[];
  /** The longest time after each that a session with a call had no turn. */
  readonly pauses: readonly Pause[];
  /** The same without a fault: one in a hundred waits is longer. */
  readonly usualMs: number;
  readonly acknowledged: number;
  /** Calls that one gateway did not take, and another did. */
  readonly elsewhere: number;
  readonly violations: Readonly<Record<(typeof PROMISES)[number], readonly string[]>>;
}

const SESSIONS = 12;
const MODEL_MS = 15;
/** As the unit in `deploy` has it: a gateway that starts takes a core for a second. */
const RESTART_MS = 2_000;
/** Longer than the server takes to end a silent session. */
const SILENT_MS = 8_000;
/** One fault in so many is not aimed at the gateway that carries out the runs. */
const OTHERS = 5;
const AGAIN = "may already have taken effect";

/** A gateway with its own way to the database. */
class Member {
  readonly proxy: DatabaseProxy;
  readonly process: GatewayProcess;

  private constructor(proxy: DatabaseProxy, model: ModelEndpoint) {
    this.proxy = proxy;
    this.process = new GatewayProcess({
      agents: { defaults: { model: "test/model", heartbeat: { every: "0m" } } },
      models: { providers: { test: { baseUrl: model.baseUrl } } },
      hooks: {
        enabled: true,
        token: HOOK_TOKEN,
        concurrency: 8,
        allowRequestSessionKey: true,
        allowedSessionKeyPrefixes: ["hook:"],
        store: { url: { env: "DATABASE_URL" }, several: true },
      },
    });
  }

  static async start(url: string, model: ModelEndpoint): Promise<Member> {
    const member = new Member(await DatabaseProxy.listen(url), model);
    await member.start();
    return member;
  }

  /** A start takes a core for a second or two. On a machine of its own it takes that from no other gateway. */
  async start(): Promise<void> {
    const started = this.process.start({ env: { DATABASE_URL: this.proxy.url } });
    const { pid } = this.process;
    // The threads that it starts have its priority; only root can give them the usual one again.
    const isRoot = pid !== undefined && process.getuid?.() === 0;
    if (isRoot) setPriority(pid, constants.priority.PRIORITY_LOW);
    await started;
    if (!isRoot) return;
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      setPriority(Number(thread), constants.priority.PRIORITY_NORMAL);
    }
  }

  /** As a supervisor does with one that is not ready any more. */
  async restart(): Promise<void> {
    this.process.freeze("SIGCONT");
    await this.process.end("SIGKILL");
    await sleep(RESTART_MS);
    await this.start();
  }

  async close(): Promise<void> {
    this.process.freeze("SIGCONT");
    await this.process.close();
    await this.proxy[Symbol.asyncDispose]();
  }
}

export async function tortureSeveral(options: SeveralOptions): Promise<SeveralResult> {
  const { databaseUrl, faults, seed, onFault } = options;
  const random = new SeededRandom(seed);
  const model = await ModelEndpoint.listen();
  model.reply = "NO_REPLY";
  model.delayMs = MODEL_MS;
  const members: Member[] = [];
  for (let number = 0; number < options.gateways; number++) members.push(await Member.start(databaseUrl, model));
  const begun = new BegunCalls(model);
  const clients = new SeveralClients({
    sessions: SESSIONS,
    gateways: members.map(({ process }) => process),
    begun: () => begun.count(),
  });
  const hits: Hit[] = [];
  try {
    // What a process loads when it first needs it is loaded.
    for (let warm = 0; warm < 5; warm++) await clients.progress();
    for (const fault of faults) {
      await clients.progress();
      const leadPid = await readLead(databaseUrl);
      const lead = members.find(({ process }) => process.pid === leadPid);
      const isLead = lead !== undefined && random.between(1, OTHERS) > 1;
      const target = isLead ? lead : random.pick(members);
      const isHit = target.process.pid === leadPid;
      const from = performance.now();
      await carryOut(fault, target, isHit ? () => untilReplaced(databaseUrl, leadPid) : async () => {});
      const hit = { fault, isLead: isHit, from, to: performance.now() };
      hits.push(hit);
      onFault?.(hit);
    }
    await clients.progress();
    await clients.end();
    const [first] = members;
    await first!.process.settled(120_000);
    const violations = check(clients, await first!.process.deliveries(), model);
    const waits = waitsOf(clients, model);
    const pauses = hits.map((hit) => pauseOf(hit, waits));
    const usual = waits.filter((wait) => !hits.some((hit) => isAround(hit, wait))).map(lengthOf);
    const usualMs = usual.toSorted((one, other) => one - other)[Math.floor(usual.length * 0.99)] ?? 0;
    return {
      hits,
      pauses,
      usualMs,
      acknowledged: clients.acknowledged.length,
      elsewhere: clients.elsewhere,
      violations,
    };
  } finally {
    await clients.end();
    for (const member of members) await member.close();
    model.close();
  }
}

async function carryOut(fault: Fault, target: Member, untilReplaced: () => Promise<void>): Promise<void> {
  const at = performance.now();
  if (fault === "SIGKILL") await target.process.end("SIGKILL");
  else if (fault === "SIGSTOP") target.process.freeze("SIGSTOP");
  else target.proxy.freeze();
  await untilReplaced();
  if (fault !== "SIGKILL") await sleep(Math.max(0, SILENT_MS - (performance.now() - at)));
  if (fault === "cut") target.proxy.thaw();
  await target.restart();
}

async function untilReplaced(databaseUrl: string, leadPid: number | undefined): Promise<void> {
  while ((await readLead(databaseUrl)) === leadPid) await sleep(10);
}

async function readLead(databaseUrl: string): Promise<number | undefined> {
  const [row] = (await runSql(databaseUrl, "SELECT pid FROM reveille.owner")) as readonly { readonly pid: number }[];
  return row?.pid;
}

/** What the gateways promise together. */
export const PROMISES = [
  "every acknowledged call is done",
  "no call is accepted twice",
  "the calls of a session keep their order",
  "a run that began twice says so",
  "a conversation goes on where it was",
] as const;

function callIn(content: unknown): string {
  return /call (\d+-\d+)\./u.exec(JSON.stringify(content))?.[1] ?? "";
}

/** Calls of which the model has seen a turn; what it sees again counts once. */
class BegunCalls {
  readonly #model: ModelEndpoint;
  readonly #calls = new Set<string>();
  #seen = 0;

  constructor(model: ModelEndpoint) {
    this.#model = model;
  }

  count(): number {
    const { requests } = this.#model;
    for (; this.#seen < requests.length; this.#seen++) {
      const call = callIn(requests[this.#seen]!.body.messages.at(-1)?.content);
      if (call !== "") this.#calls.add(call);
    }
    return this.#calls.size;
  }
}

/** A time in which a session with a call had no turn. */
interface Wait {
  readonly from: number;
  readonly to: number;
}

/** Each wait of a session for a turn of the call that was its next, or that began again. */
function waitsOf({ acknowledged, answeredAt }: SeveralClients, { requests }: ModelEndpoint): readonly Wait[] {
  const turnsOf = Map.groupBy(requests, ({ body }) => callIn(body.messages.at(-1)?.content));
  const waits: Wait[] = [];
  for (const calls of Map.groupBy(acknowledged, (call) => call.split("-")[0]).values()) {
    let last = 0;
    for (const call of calls) {
      for (const { at } of turnsOf.get(call) ?? []) {
        waits.push({ from: Math.max(last, answeredAt.get(call)!), to: at });
        last = at + MODEL_MS;
      }
    }
  }
  return waits;
}

function pauseOf(hit: Hit, waits: readonly Wait[]): Pause {
  const after = waits
    .filter((wait) => isAround(hit, wait))
    .map(({ from, to }): Pause => ({ fromMs: Math.max(0, from - hit.from), toMs: to - hit.from }));
  return after.reduce((longest, pause) => (msOf(pause) > msOf(longest) ? pause : longest), { fromMs: 0, toMs: 0 });
}

export function msOf({ fromMs, toMs }: Pause): number {
  return toMs - fromMs;
}

function isAround(hit: Hit, { from, to }: Wait): boolean {
  return from <= hit.to && to >= hit.from;
}

function lengthOf({ from, to }: Wait): number {
  return Math.max(0, to - from);
}

/** The calls of which a promise was not kept. */
function check(
  { acknowledged }: SeveralClients,
  deliveries: readonly DeliverySummary[],
  model: ModelEndpoint,
): SeveralResult["violations"] {
  // A main session with many summaries takes a turn of its own.
  const requests = model.requests.filter(({ body }) => callIn(body.messages.at(-1)?.content) !== "");
  const prompts = requests.map(({ body }) => JSON.stringify(body.messages.at(-1)?.content));
  const accepted = deliveries.filter(({ state }) => state !== "duplicate");
  const byName = Map.groupBy(accepted, ({ name }) => name);
  const askedOf = Map.groupBy(prompts, callIn);
  const firstAsked = [...askedOf.keys()];
  const isInOrder = (session: string): boolean => {
    const numbers = firstAsked
      .filter((call) => call.startsWith(`${session}-`))
      .map((call) => Number(call.split("-")[1]));
    return numbers.every((number, at) => at === 0 || number > numbers[at - 1]!);
  };
  const sessions = [...new Set(acknowledged.map((call) => call.split("-")[0]!))];
  return {
    "every acknowledged call is done": acknowledged.filter(
      (call) => byName.get(call)?.some(({ state }) => state === "done") !== true,
    ),
    "no call is accepted twice": [...byName].filter(([, stored]) => stored.length > 1).map(([name]) => name),
    "the calls of a session keep their order": sessions.filter((session) => !isInOrder(session)),
    // A gateway that was frozen may ask for its first attempt after another one has asked again.
    "a run that began twice says so": [...askedOf].flatMap(([call, asked]) =>
      asked.filter((prompt) => !prompt.includes(AGAIN)).length <= 1 ? [] : [call],
    ),
    "a conversation goes on where it was": requests.flatMap(({ body: { messages } }) => {
      const [call, ...earlier] = messages.map(({ content }) => callIn(content)).toReversed();
      const [session, number] = (call ?? "").split("-").map(Number);
      const isGiven = number === 0 || earlier.includes(`${session}-${number! - 1}`);
      return isGiven || !isConversation(session!) ? [] : [call!];
    }),
  };
}
