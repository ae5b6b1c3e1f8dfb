/** One process that speaks the Agent Client Protocol, and the sessions in it. */
import { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type * as acp from "@agentclientprotocol/sdk";
import { reasonOf } from "../../../core/reason-of.ts";
import { Output, Program, type ProgramStart } from "../programs/program.ts";
import { actOf, answerOf, CANCELED, isShortId, keptOf, type KnownCall, serverOf, contentText } from "./acp-acts.ts";
import type { RunRights } from "./run-rights.ts";
import type { ToolGrant } from "./tool-endpoint.ts";
import { unlessAborted } from "./unless-aborted.ts";

/** One prompt in a session. */
export interface AcpPrompt {
  readonly text: string;
  readonly rights: RunRights;
  readonly signal: AbortSignal;
  readonly maxReplyChars: number;
}

export interface AcpReply {
  readonly text: string;
  readonly stopReason: acp.StopReason;
}

/** A session to be continued or made. */
export interface SessionToOpen {
  /** What the agent called it before. */
  readonly known: string | undefined;
  /** Whose it is: no two owners share a session. */
  readonly of: string | object;
  readonly cwd: string;
  /** A server of tools for it; absent: none. */
  readonly grant?: ToolGrant | undefined;
  readonly signal: AbortSignal;
}

/** How a session was found: with its own memory, or without any. */
export interface OpenedSession {
  readonly id: string;
  readonly isFresh: boolean;
}

/** What the process is doing for one prompt. */
interface Turn {
  readonly prompt: AcpPrompt;
  text: string;
  readonly calls: Map<string, KnownCall>;
  /** Of calls that were denied, their ids. */
  readonly denied: Set<string>;
  readonly ended: PromiseWithResolvers<void>;
}

const START_MS = 60_000;
/** An agent may take so long to end a prompt that was canceled; then its process ends. */
const CANCEL_MS = 2_000;
const MAX_STDERR_BYTES = 2_000;
/** Sessions that one process keeps open. */
const MAX_LIVE = 1_000;
/** Sessions of turns that have ended, of an agent that can close none: some start a program for each. */
const MAX_UNCLOSED = 20;
/** Tool calls of one prompt that are watched. */
const MAX_CALLS = 500;
/** A longer message ends the process. */
const MAX_MESSAGE_BYTES = 16_777_216;

export class AcpProcess {
  /** Resolves once the process has ended. */
  readonly ended: Promise<void>;
  readonly #program: Program;
  readonly #connection: acp.ClientConnection;
  readonly #stderr: Output;
  readonly #turns = new Map<string, Turn>();
  /** Open sessions, each with its owner. */
  readonly #live = new Map<string, string | object>();
  #capabilities: acp.AgentCapabilities = {};
  #problem: Error | undefined;
  #unclosed = 0;

  /**
   * Starts the program and agrees on the protocol; rejects with an error whose message names what is wrong. An abort
   * ends what was started.
   */
  static async start(start: ProgramStart, signal: AbortSignal): Promise<AcpProcess> {
    const library = await import("@agentclientprotocol/sdk");
    const program = await Program.start(start);
    const process = new AcpProcess(program, library);
    try {
      await unlessAborted(process.#initialize(library), signal);
      return process;
    } catch (error) {
      await program.end();
      await program.ended.catch(() => undefined);
      const said = process.#stderr.text.trim();
      const why = process.#problem ?? error;
      throw new Error(
        `The agent ${JSON.stringify(start.config.command[0])} could not be used: ${reasonOf(why)}${said === "" ? "" : `: ${said}`}`,
        { cause: error },
      );
    }
  }

  private constructor(program: Program, library: typeof acp) {
    this.#program = program;
    this.#stderr = new Output(program.stderr, MAX_STDERR_BYTES);
    const stream = library.ndJsonStream(
      Writable.toWeb(program.stdin),
      Readable.toWeb(program.stdout) as ReadableStream<Uint8Array>,
      { maxMessageBytes: MAX_MESSAGE_BYTES },
    );
    this.#connection = library
      .client({ name: "reveille" })
      .onRequest(library.methods.client.session.requestPermission, ({ params }) => this.#permit(params))
      .onNotification(library.methods.client.session.update, ({ params }) => this.#update(params))
      .connect(stream);
    // With an agent that broke the framing there is nothing more to say.
    this.#connection.signal.addEventListener("abort", () => void program.end(), { once: true });
    this.ended = program.ended.then(
      ({ code, killedBy }) => this.#fail(new Error(`the agent ended with ${killedBy ?? `status ${code}`}`)),
      (error: Error) => this.#fail(error),
    );
  }

  /** False once it ends, or is full of sessions that it cannot close. */
  get takesTurns(): boolean {
    return this.#problem === undefined && !this.#program.isEnding && this.#unclosed < MAX_UNCLOSED;
  }

  /** The session that was left with `known`, resumed or loaded where the agent can; else a fresh one. */
  async open({ known, of, cwd, grant, signal }: SessionToOpen): Promise<OpenedSession> {
    const { agent } = this.#connection;
    const takesServers = this.#capabilities.mcpCapabilities?.http === true;
    const place = { cwd, mcpServers: grant !== undefined && takesServers ? [serverOf(grant)] : [] };
    const owner = known === undefined ? undefined : this.#live.get(known);
    if (known !== undefined && owner === of) return { id: known, isFresh: false };
    const method = this.#resumeMethod();
    // What the agent has given to someone else since is not continued.
    if (known !== undefined && owner === undefined && method !== undefined) {
      try {
        await this.#unlessAborted(agent.request(method, { sessionId: known, ...place }), signal);
        if (this.#live.get(known) !== of) this.#own(known, of);
        return { id: known, isFresh: false };
      } catch {
        signal.throwIfAborted();
        // The agent has forgotten it: the conversation begins again.
      }
    }
    const asked = agent.request("session/new", { ...place });
    const { sessionId } = await this.#unlessAborted(asked, signal).catch((error: unknown) => {
      const forget = (id: string): unknown => !this.#live.has(id) && this.closeSession(id);
      void asked.then(({ sessionId: late }) => forget(late)).catch(() => undefined);
      throw error;
    });
    this.#own(sessionId, of);
    return { id: sessionId, isFresh: true };
  }

  /** Sends one prompt and resolves with the agent's words; rejects when the process ends under it. */
  async prompt(id: string, prompt: AcpPrompt): Promise<AcpReply> {
    for (let before = this.#turns.get(id); before !== undefined; before = this.#turns.get(id)) {
      await unlessAborted(before.ended.promise, prompt.signal);
    }
    const turn: Turn = { prompt, text: "", calls: new Map(), denied: new Set(), ended: Promise.withResolvers() };
    this.#turns.set(id, turn);
    const cancel = (): void => void this.#cancel(id, turn);
    prompt.signal.addEventListener("abort", cancel, { once: true });
    try {
      const asked = this.#connection.agent.request("session/prompt", {
        sessionId: id,
        prompt: [{ type: "text", text: prompt.text }],
      });
      if (prompt.signal.aborted) cancel();
      const { stopReason } = await asked;
      return { text: turn.text, stopReason };
    } catch (error) {
      // The end of its output is seen before its own.
      if (this.#connection.signal.aborted) await this.end();
      throw this.#problem ?? error;
    } finally {
      prompt.signal.removeEventListener("abort", cancel);
      this.#turns.delete(id);
      turn.ended.resolve();
    }
  }

  /** Lets the agent forget a session that nothing continues. */
  async closeSession(id: string): Promise<void> {
    this.#live.delete(id);
    if (this.#capabilities.sessionCapabilities?.close == null) this.#unclosed++;
    else if (this.#problem === undefined) await this.#close(id);
  }

  async #close(id: string): Promise<void> {
    const closed = this.#connection.agent.request("session/close", { sessionId: id }).catch(() => undefined);
    // Nothing depends on the answer.
    await Promise.race([closed, sleep(CANCEL_MS, undefined, { ref: false })]);
  }

  async end(): Promise<void> {
    await this.#program.end();
    await this.#program.ended.catch(() => undefined);
  }

  async #initialize(library: typeof acp): Promise<void> {
    const asked = this.#connection.agent.request("initialize", {
      protocolVersion: library.PROTOCOL_VERSION,
      // The gateway reads and writes no files for the agent: it would do so outside of its confinement.
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    });
    const answered = asked.then(({ protocolVersion, agentCapabilities }) => {
      if (protocolVersion !== library.PROTOCOL_VERSION) {
        throw new Error(`it speaks version ${protocolVersion} of the protocol, not ${library.PROTOCOL_VERSION}`);
      }
      this.#capabilities = agentCapabilities ?? {};
    });
    const late = AbortSignal.timeout(START_MS);
    const overdue = new Promise<never>((_, reject) => {
      const fail = (): void => reject(new Error(`it did not answer within ${START_MS / 1_000} s`));
      late.addEventListener("abort", fail, { once: true });
    });
    await Promise.race([answered, overdue]);
  }

  #own(id: string, of: string | object): void {
    if (this.#live.has(id) || !isShortId(id)) {
      throw new Error("the agent gave a session the name of another one, or too long a name");
    }
    this.#live.set(id, of);
    const oldest = this.#live.keys().find((each) => each !== id && !this.#turns.has(each));
    if (this.#live.size > MAX_LIVE && oldest !== undefined) void this.closeSession(oldest);
  }

  #resumeMethod(): "session/resume" | "session/load" | undefined {
    if (this.#capabilities.sessionCapabilities?.resume != null) return "session/resume";
    return this.#capabilities.loadSession === true ? "session/load" : undefined;
  }

  /** An agent that does not answer soon after the turn has ended will not answer the next one either. */
  async #unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
    try {
      return await unlessAborted(work, signal);
    } finally {
      if (signal.aborted) {
        const late = setTimeout(() => void this.#program.end(), CANCEL_MS);
        void work.catch(() => undefined).finally(() => clearTimeout(late));
      }
    }
  }

  async #cancel(id: string, turn: Turn): Promise<void> {
    // An agent that reads nothing more does not take this either.
    void this.#connection.agent.notify("session/cancel", { sessionId: id }).catch(() => undefined);
    await sleep(CANCEL_MS, undefined, { ref: false });
    if (this.#turns.get(id) === turn) await this.#program.end();
  }

  async #permit({
    sessionId,
    toolCall,
    options,
  }: acp.RequestPermissionRequest): Promise<acp.RequestPermissionResponse> {
    const turn = this.#turns.get(sessionId);
    if (turn === undefined || turn.prompt.signal.aborted) return CANCELED;
    const verdict = await turn.prompt.rights.judge(actOf(toolCall, turn.calls.get(toolCall.toolCallId)));
    const { toolCallId } = toolCall;
    if (!verdict.allowed && turn.denied.size < MAX_CALLS && isShortId(toolCallId)) turn.denied.add(toolCallId);
    return turn.prompt.signal.aborted ? CANCELED : answerOf(options, { isAllowed: verdict.allowed });
  }

  #update({ sessionId, update }: acp.SessionNotification): void {
    const turn = this.#turns.get(sessionId);
    if (turn === undefined) return;
    if (update.sessionUpdate === "agent_message_chunk") {
      // Of the other sessions in the process this one is no concern.
      if (turn.text.length > turn.prompt.maxReplyChars) return;
      if (update.content.type === "text") turn.text += update.content.text;
      if (turn.text.length > turn.prompt.maxReplyChars) void this.#cancel(sessionId, turn);
    } else if (update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update") {
      // What an agent says before and after a call are two messages.
      const isNew = update.sessionUpdate === "tool_call";
      if (isNew && turn.text !== "" && !turn.text.endsWith("\n")) turn.text += "\n\n";
      const act = actOf(update, turn.calls.get(update.toolCallId));
      const isKept = turn.calls.has(update.toolCallId) || turn.calls.size < MAX_CALLS;
      if (isKept && isShortId(update.toolCallId)) turn.calls.set(update.toolCallId, keptOf(act));
      // A call that was denied and then fails was never made.
      const isMade = update.status === "failed" && !turn.denied.has(update.toolCallId);
      if (isMade || update.status === "completed") {
        turn.prompt.rights.called(act, update.status === "failed" ? "failed" : contentText(update.content));
      }
    }
  }

  #fail(error: Error): void {
    this.#problem ??= error;
    this.#connection.close(error);
  }
}
