/** Turns of agents that speak the Agent Client Protocol: one warm process for each agent. */
import { reasonOf } from "../../../core/reason-of.ts";
import type { ProgramStart } from "../programs/program.ts";
import { AcpProcess, type AcpReply } from "./acp-process.ts";
import { promptOf } from "./command-turn.ts";
import type { ModelOutcome, TurnMessage } from "./turn.ts";
import type { RunRights } from "./run-rights.ts";

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
  readonly rights: RunRights;
  readonly signal: AbortSignal;
  readonly maxReplyChars: number;
}

/** Where the agent's own name of a session is kept. */
export interface AcpMemory {
  read(): string | undefined;
  write(id: string): Promise<void>;
}

interface Warm {
  readonly process: Promise<AcpProcess>;
  /** Of the turn that runs in it, which must not change under it. */
  onRefusedHost: (host: string) => void;
  idle: NodeJS.Timeout | undefined;
  turns: number;
}

/** Without a turn for that long, a process ends. */
const IDLE_MS = 600_000;

export class AcpAgents {
  readonly #warm = new Map<string, Warm>();

  /** Runs one turn; never rejects. */
  async run(turn: AcpTurn): Promise<ModelOutcome> {
    if (turn.signal.aborted) return { error: "The turn was aborted." };
    const warm = this.#warmOf(turn);
    warm.turns++;
    clearTimeout(warm.idle);
    try {
      const process = await warm.process;
      return await converse(process, turn);
    } catch (error) {
      this.#forget(turn.key, warm);
      return turn.signal.aborted ? { error: "The turn was aborted." } : { error: reasonOf(error) };
    } finally {
      warm.turns--;
      if (warm.turns === 0) this.#rest(turn.key, warm);
    }
  }

  /** Ends every process. */
  async close(): Promise<void> {
    const all = [...this.#warm];
    await Promise.all(
      all.map(async ([key, warm]) => {
        this.#forget(key, warm);
        await (await warm.process.catch(() => undefined))?.end();
      }),
    );
  }

  #warmOf({ key, start, rights }: AcpTurn): Warm {
    const known = this.#warm.get(key);
    if (known !== undefined) {
      known.onRefusedHost = (host) => rights.refusedHost(host);
      return known;
    }
    const warm: Warm = {
      onRefusedHost: (host) => rights.refusedHost(host),
      process: AcpProcess.start({ ...start, onRefusedHost: (host) => warm.onRefusedHost(host) }),
      idle: undefined,
      turns: 0,
    };
    this.#warm.set(key, warm);
    return warm;
  }

  #rest(key: string, warm: Warm): void {
    warm.idle = setTimeout(() => {
      this.#forget(key, warm);
      void warm.process.then((process) => process.end()).catch(() => undefined);
    }, IDLE_MS).unref();
    void warm.process.then(
      (process) => {
        if (!process.isAlive) this.#forget(key, warm);
      },
      () => this.#forget(key, warm),
    );
  }

  #forget(key: string, warm: Warm): void {
    clearTimeout(warm.idle);
    if (this.#warm.get(key) === warm) this.#warm.delete(key);
  }
}

async function converse(process: AcpProcess, turn: AcpTurn): Promise<ModelOutcome> {
  const { memory, messages, systemPrompt, rights, signal, maxReplyChars } = turn;
  const { id, isFresh } = await process.open(memory?.read(), turn.cwd);
  if (isFresh) await memory?.write(id);
  try {
    // An agent that remembers the session gets only what is new.
    const text = isFresh ? promptOf(messages, systemPrompt) : (messages.at(-1)?.text ?? "");
    return outcomeOf(await process.prompt(id, { text, rights, signal, maxReplyChars }), turn);
  } finally {
    if (memory === undefined) await process.closeSession(id);
  }
}

function outcomeOf({ text, stopReason }: AcpReply, { signal, maxReplyChars }: AcpTurn): ModelOutcome {
  if (signal.aborted) return { error: "The turn was aborted." };
  if (text.length > maxReplyChars) {
    return { error: `The agent's reply is longer than ${maxReplyChars} characters and was not taken.` };
  }
  if (stopReason === "end_turn") return { reply: text.trim() };
  return { error: STOPPED[stopReason] };
}

const STOPPED = {
  max_tokens: "The agent stopped because its reply had too many tokens.",
  max_turn_requests: "The agent stopped because it had made too many requests to its model.",
  refusal: "The agent refused to go on.",
  cancelled: "The agent was canceled.",
} as const;
