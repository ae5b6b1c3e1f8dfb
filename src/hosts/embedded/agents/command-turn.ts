/** One turn of an agent that is a program: the prompt on its standard input, the reply on its standard output. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { reasonOf } from "../../../core/reason-of.ts";
import type { CommandRuntime } from "../config/runtime.ts";
import type { ModelOutcome, TurnMessage } from "./model-turn.ts";

export interface CommandTurn {
  readonly runtime: CommandRuntime;
  /** Folder of the agent in the gateway's state: where the program works, and its home. */
  readonly folder: string;
  /** In order; the last one is the user's. */
  readonly messages: readonly TurnMessage[];
  readonly systemPrompt: string | undefined;
  /** What the program may read of its turn in its environment. */
  readonly of: { readonly agentId: string; readonly sessionKey: string; readonly runId?: string };
  readonly signal: AbortSignal;
  /** The longest reply that is taken, in UTF-16 units. */
  readonly maxReplyChars: number;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** By this exit status a program asks to be started again later (sysexits.h: EX_TEMPFAIL). */
const TRY_AGAIN = 75;
/** Between the request to end and the end by force. */
const GRACE_MS = 500;
/** Time for the output to arrive that was written before the end. */
const DRAIN_MS = 1_000;
/** Of standard error, for the reason of a failure. */
const MAX_STDERR_CHARS = 2_000;
/** Characters that one UTF-16 unit may take as bytes of UTF-8. */
const BYTES_PER_CHAR = 4;

/**
 * Starts the program and waits for its end. It leads a process group of its own, which is ended with it: by an abort,
 * by a reply that is too long, and when the program has ended and left others behind. Never rejects.
 */
export async function runCommandTurn(turn: CommandTurn): Promise<ModelOutcome> {
  const { runtime, folder, signal } = turn;
  const [program = "", ...args] = runtime.command;
  if (signal.aborted) return { error: "The turn was aborted." };
  let child: ChildProcessWithoutNullStreams;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    child = spawn(program, args, { cwd: runtime.cwd ?? folder, env: environmentOf(turn), detached: true });
    await once(child, "spawn");
  } catch (error) {
    return { error: `The program ${JSON.stringify(program)} could not be started: ${reasonOf(error)}` };
  }
  return await finish(child, turn, program);
}

async function finish(
  child: ChildProcessWithoutNullStreams,
  { signal, messages, systemPrompt, maxReplyChars }: CommandTurn,
  program: string,
): Promise<ModelOutcome> {
  const group = new ProcessGroup(child);
  const onAbort = (): void => void group.end();
  signal.addEventListener("abort", onAbort, { once: true });
  // A program need not read its prompt to the end.
  child.stdin.on("error", () => undefined);
  child.on("error", () => undefined);
  child.stdin.end(promptOf(messages, systemPrompt));
  const output = collect(child.stdout, maxReplyChars * BYTES_PER_CHAR, () => void group.end());
  const problems = collect(child.stderr, MAX_STDERR_CHARS, () => undefined);
  try {
    const [code, killedBy] = await group.ended;
    // A process that left the group may hold the output open.
    const drained = setTimeout(() => [child.stdout, child.stderr].forEach((stream) => stream.destroy()), DRAIN_MS);
    const [reply, said] = await Promise.all([output, problems]);
    clearTimeout(drained);
    const words = said.text.trim();
    if (signal.aborted) return { error: "The turn was aborted." };
    if (output.isCut() || reply.text.length > maxReplyChars) {
      return { error: `The program's reply is longer than ${maxReplyChars} characters and was not taken.` };
    }
    if (code === 0) return { reply: reply.text.trim() };
    const how = code === null ? `was ended by ${killedBy}` : `ended with status ${code}`;
    const error = `The program ${JSON.stringify(program)} ${how}${words === "" ? "" : `: ${words}`}`;
    return code === TRY_AGAIN ? { error, retryable: true } : { error };
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** A process and those that it started, as long as they stay in its group. */
class ProcessGroup {
  /** Exit status and signal of the program, once nothing of the group writes any more. */
  readonly ended: Promise<[number | null, NodeJS.Signals | null]>;
  readonly #child: ChildProcessWithoutNullStreams;
  #isEnding = false;

  constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    this.ended = this.#wait();
  }

  /** Asks the group to end, and ends it by force a moment later. */
  async end(): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#kill("SIGTERM");
    await sleep(GRACE_MS);
    this.#kill("SIGKILL");
  }

  async #wait(): Promise<[number | null, NodeJS.Signals | null]> {
    const ended = (await once(this.#child, "exit")) as [number | null, NodeJS.Signals | null];
    // What the program left behind would hold its output open, and go on after the run.
    this.#kill("SIGKILL");
    return ended;
  }

  #kill(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.#child.pid!, signal);
    } catch {
      // Nothing of the group is left.
    }
  }
}

interface Collected extends Promise<{ readonly text: string }> {
  readonly isCut: () => boolean;
}

/** Reads to the end and keeps so many bytes; the rest is read and dropped, so that the program is not held up. */
function collect(stream: Readable, maxBytes: number, onCut: () => void): Collected {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on("data", (chunk: Buffer) => {
    if (bytes <= maxBytes && bytes + chunk.length > maxBytes) onCut();
    if (bytes < maxBytes) chunks.push(chunk.subarray(0, maxBytes - bytes));
    bytes += chunk.length;
  });
  const closed = once(stream, "close").then(() => ({ text: Buffer.concat(chunks).toString("utf8") }));
  return Object.assign(closed, { isCut: () => bytes > maxBytes });
}

/** Nothing of the gateway's own environment but what is listed: it may hold tokens. */
function environmentOf({ runtime, folder, of, env = process.env }: CommandTurn): Record<string, string> {
  const named = [...BASE_VARIABLES, ...runtime.env].flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const { agentId, sessionKey, runId } = of;
  return {
    HOME: folder,
    ...Object.fromEntries(named),
    REVEILLE_AGENT: agentId,
    REVEILLE_SESSION: sessionKey,
    ...(runId === undefined ? {} : { REVEILLE_RUN: runId }),
  };
}

const BASE_VARIABLES = ["PATH", "LANG", "LC_ALL", "TZ", "TMPDIR"] as const;

/** The conversation as one text: a program has no memory of its own here. */
function promptOf(messages: readonly TurnMessage[], systemPrompt: string | undefined): string {
  const last = messages.at(-1)?.text ?? "";
  const earlier = messages
    .slice(0, -1)
    .map(({ role, text }) => `${role === "user" ? "Earlier message:" : "Your reply:"}\n${text}\n\n`);
  const before = earlier.length === 0 ? "" : `${earlier.join("")}The message now:\n`;
  return `${systemPrompt === undefined ? "" : `${systemPrompt}\n\n`}${before}${last}\n`;
}
