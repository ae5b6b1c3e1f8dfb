/** One turn of an agent that is a program: the prompt on its standard input, the reply on its standard output. */
import { Output, Program, type ProgramStart, ProgramStartError } from "../programs/program.ts";
import type { ModelOutcome, TurnMessage } from "./turn.ts";

export interface CommandTurn {
  readonly start: ProgramStart;
  /** In order; the last one is the user's. */
  readonly messages: readonly TurnMessage[];
  readonly systemPrompt: string | undefined;
  readonly signal: AbortSignal;
  /** The longest reply that is taken, in UTF-16 units. */
  readonly maxReplyChars: number;
}

/** By this exit status a program asks to be started again later (sysexits.h: EX_TEMPFAIL). */
const TRY_AGAIN = 75;
/** Time for the output to arrive that was written before the end. */
const DRAIN_MS = 1_000;
/** Of standard error, for the reason of a failure. */
const MAX_STDERR_BYTES = 2_000;
/** Characters that one UTF-16 unit may take as bytes of UTF-8. */
const BYTES_PER_CHAR = 4;

/**
 * Starts the program and waits for its end. It is ended by an abort, and by a reply that is too long, with all that it
 * started. Never rejects.
 */
export async function runCommandTurn(turn: CommandTurn): Promise<ModelOutcome> {
  if (turn.signal.aborted) return { error: "The turn was aborted." };
  try {
    return await finish(await Program.start(turn.start), turn);
  } catch (error) {
    if (error instanceof ProgramStartError) return { error: error.message };
    throw error;
  }
}

async function finish(
  program: Program,
  { start, signal, messages, systemPrompt, maxReplyChars }: CommandTurn,
): Promise<ModelOutcome> {
  const onAbort = (): void => void program.end();
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  program.stdin.end(promptOf(messages, systemPrompt));
  const output = new Output(program.stdout, maxReplyChars * BYTES_PER_CHAR, onAbort);
  const problems = new Output(program.stderr, MAX_STDERR_BYTES);
  try {
    const { code, killedBy } = await program.ended;
    // A process that left the group may hold the output open.
    const drained = setTimeout(() => [program.stdout, program.stderr].forEach((stream) => stream.destroy()), DRAIN_MS);
    const [reply, said] = await Promise.all([output.whole(), problems.whole()]);
    clearTimeout(drained);
    if (signal.aborted) return { error: "The turn was aborted." };
    if (output.isCut || reply.length > maxReplyChars) {
      return { error: `The program's reply is longer than ${maxReplyChars} characters and was not taken.` };
    }
    if (code === 0) return { reply: reply.trim() };
    const how = code === null ? `was ended by ${killedBy}` : `ended with status ${code}`;
    const words = said.trim();
    const error = `The program ${JSON.stringify(start.config.command[0])} ${how}${words === "" ? "" : `: ${words}`}`;
    return code === TRY_AGAIN ? { error, retryable: true } : { error };
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** The conversation as one text: a program has no memory of its own here. */
export function promptOf(messages: readonly TurnMessage[], systemPrompt: string | undefined): string {
  const last = messages.at(-1)?.text ?? "";
  const earlier = messages
    .slice(0, -1)
    .map(({ role, text }) => `${role === "user" ? "Earlier message:" : "Your reply:"}\n${text}\n\n`);
  const before = earlier.length === 0 ? "" : `${earlier.join("")}The message now:\n`;
  return `${systemPrompt === undefined ? "" : `${systemPrompt}\n\n`}${before}${last}\n`;
}
