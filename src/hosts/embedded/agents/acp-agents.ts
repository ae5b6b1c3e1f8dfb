/** Turns of agents that speak the Agent Client Protocol: one warm process for each agent. */
import type { Logger } from "../../../core/host.ts";
import { reasonOf } from "../../../core/reason-of.ts";
import type { ProgramStart } from "../programs/program.ts";
import { AcpProcess, type AcpReply } from "./acp-process.ts";
import { promptOf } from "./command-turn.ts";
import type { ModelOutcome, TurnMessage } from "./turn.ts";
import type { RunRights } from "./run-rights.ts";
import type { ToolGrant } from "./tool-endpoint.ts";
import { unlessAborted } from "./unless-aborted.ts";

export interface AcpTurn {
  /** Names the process; another one is started for another key. */
  readonly key: string;
  readonly start: ProgramStart;
  /** Absolute; where the session works. */
  readonly cwd: string;
  readonly messages: readonly TurnMessage[];
  readonly systemPrompt: string | undefined;
  /** What the agent calls the session that the turn continues; absent: the turn is on its own. */
  readonly memory?: AcpMemory | undefined;
  /** A server of tools for this turn alone; absent: none. */
  readonly grant?: ToolGrant | undefined;
  readonly rights: RunRights;
  readonly signal: AbortSignal;
  readonly maxReplyChars: number;
}

/** Where the agent's own name of a session is kept. */
export interface AcpMemory {
  /** The gateway's name of the session. */
  readonly of: string;
  read(): Promise<string | undefined>;
  write(id: string): Promise<void>;
}

interface Warm {
  readonly process: Promise<AcpProcess>;
  /** Ends a start for which no turn waits any more. */
  readonly start: AbortController;
  started: AcpProcess | undefined;
  /** Of the turns that run in it. */
  readonly turns: Set<AcpTurn>;
  idle: NodeJS.Timeout | undefined;
}

/** Without a turn for that long, a process ends. */
const IDLE_MS = 600_000;
/** Of what an agent says about its failure. */
const MAX_REASON_CHARS = 2_000;

export class AcpAgents {
  /** Of each key, the one that takes the next turn. */
  readonly #warm = new Map<string, Warm>();
  /** Every process, those too that take no further turn. */
  readonly #all = new Set<Warm>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Runs one turn; never rejects. */
  async run(turn: AcpTurn): Promise<ModelOutcome> {
    if (turn.signal.aborted) return { error: "The turn was aborted." };
    const warm = this.#warmOf(turn);
    warm.turns.add(turn);
    clearTimeout(warm.idle);
    try {
      return await converse(await unlessAborted(warm.process, turn.signal), turn);
    } catch (error) {
      return { error: turn.signal.aborted ? "The turn was aborted." : shortReason(error) };
    } finally {
      warm.turns.delete(turn);
      if (warm.turns.size === 0) this.#rest(turn.key, warm);
    }
  }

  /** Ends every process. */
  async close(): Promise<void> {
    this.#warm.clear();
    const ends = [...this.#all].map(async ({ start, idle, process }) => {
      clearTimeout(idle);
      start.abort();
      await (await process.catch(() => undefined))?.end();
    });
    await Promise.all(ends);
  }

  #warmOf({ key, start }: AcpTurn): Warm {
    const known = this.#warm.get(key);
    // The turns in one that takes no more go on in it.
    if (known !== undefined && known.started?.takesTurns !== false) return known;
    const turns = new Set<AcpTurn>();
    const aborter = new AbortController();
    const onRefusedHost = (host: string): void => this.#refusedHost(host, turns, start.variables["REVEILLE_AGENT"]);
    const warm: Warm = {
      process: AcpProcess.start({ ...start, onRefusedHost }, aborter.signal),
      start: aborter,
      started: undefined,
      turns,
      idle: undefined,
    };
    this.#warm.set(key, warm);
    this.#all.add(warm);
    const forget = (): void => {
      clearTimeout(warm.idle);
      this.#all.delete(warm);
      if (this.#warm.get(key) === warm) this.#warm.delete(key);
    };
    const onStarted = (process: AcpProcess): Promise<void> => {
      warm.started = process;
      return process.ended;
    };
    void warm.process.then(onStarted).then(forget, forget);
    return warm;
  }

  /** Which of its sessions it was for, a process does not say. */
  #refusedHost(host: string, turns: ReadonlySet<AcpTurn>, agent: string | undefined): void {
    for (const { rights } of turns) rights.refusedHost(host, turns.size);
    if (turns.size === 0) this.#logger.warn({ agent, host }, "an agent without a turn was refused a host");
  }

  /** No turn is in the process. */
  #rest(key: string, warm: Warm): void {
    const end = (): void => {
      if (this.#warm.get(key) === warm) this.#warm.delete(key);
      if (warm.started === undefined) warm.start.abort();
      else void warm.started.end();
    };
    if (warm.started?.takesTurns !== true) return end();
    warm.idle = setTimeout(end, IDLE_MS).unref();
  }
}

async function converse(process: AcpProcess, turn: AcpTurn): Promise<ModelOutcome> {
  const { memory, messages, systemPrompt, rights, signal, maxReplyChars, cwd, grant } = turn;
  const known = await memory?.read();
  const { id, isFresh } = await process.open({ known, of: memory?.of ?? turn, cwd, grant, signal });
  if (isFresh) await memory?.write(id);
  try {
    // An agent that remembers the session gets only what is new.
    const text = isFresh ? promptOf(messages, systemPrompt) : (messages.at(-1)?.text ?? "");
    return outcomeOf(await process.prompt(id, { text, rights, signal, maxReplyChars }), turn);
  } finally {
    // A session that stays open would keep the token of this turn, and get none for the next one.
    if (memory === undefined || grant !== undefined) await process.closeSession(id);
  }
}

function shortReason(error: unknown): string {
  return reasonOf(error).slice(0, MAX_REASON_CHARS).toWellFormed();
}

function outcomeOf({ text, stopReason }: AcpReply, { signal, maxReplyChars }: AcpTurn): ModelOutcome {
  if (signal.aborted) return { error: "The turn was aborted." };
  if (text.length > maxReplyChars) {
    return { error: `The agent's reply is longer than ${maxReplyChars} characters and was not taken.` };
  }
  if (stopReason === "end_turn") return { reply: text.trim() };
  return { error: STOPPED[stopReason] ?? "The agent stopped for a reason that is not in the protocol." };
}

const STOPPED: Readonly<Record<string, string>> = {
  max_tokens: "The agent stopped because its reply had too many tokens.",
  max_turn_requests: "The agent stopped because it had made too many requests to its model.",
  refusal: "The agent refused to go on.",
  cancelled: "The agent was canceled.",
};
