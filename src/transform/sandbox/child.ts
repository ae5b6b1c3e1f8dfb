import { reasonOf } from "../../core/reason-of.ts";
import type { ChildProcess } from "node:child_process";
import type { Duplex, Readable } from "node:stream";
import { exitReason } from "./exit-reason.ts";
import { encodeFrame, FrameReader } from "./frames.ts";
import { MemoryWatch, onlyChildOf } from "./memory-watch.ts";
import type { SandboxReply } from "./messages.ts";
import { readReply } from "./read-reply.ts";
import { heapMegabytes, killGroup, spawnSandbox, type SpawnSandboxOptions } from "./spawn.ts";

const TAIL_CHARACTERS = 8_192;

/** The end of what a process writes to stderr, and how much it wrote since someone last asked. */
class ProcessOutput {
  #tail = "";
  #bytes = 0;

  constructor(stream: Readable, onData: (bytes: number) => void) {
    stream.on("data", (chunk: Buffer) => {
      this.#tail = (this.#tail + chunk.toString("latin1")).slice(-TAIL_CHARACTERS);
      this.#bytes += chunk.byteLength;
      onData(this.#bytes);
    });
    stream.on("error", () => {});
  }

  get tail(): string {
    return this.#tail;
  }

  /** The line that names the error, else the first with words in it, cut; for a program that could not start. */
  get complaint(): string {
    const line = /^\w*Error\b.*$/m.exec(this.#tail) ?? /\S.*/.exec(this.#tail);
    return (line?.[0] ?? "").replaceAll(/[^\x20-\x7e]+/g, " ").slice(0, 200);
  }

  forgive(): void {
    this.#bytes = 0;
  }
}

export interface SandboxChildOptions extends SpawnSandboxOptions {
  readonly maxReplyBytes: number;
  /** Tells what is wrong with a reply of so many characters, which ends the process; nothing, as a rule. */
  readonly onReply: (reply: SandboxReply, characters: number) => string | undefined;
  /** Once, as soon as nothing more is to be expected; `reason` continues a sentence that begins with a module. */
  readonly onEnd: (reason: string) => void;
}

/** From the end of what it says to its own end. */
const FAREWELL_MS = 2_000;
const MAX_STDERR_BYTES = 262_144;
const UNWATCHED = "could not be watched for its memory; the gateway may have too many files open";

/** An isolated process and the frames to and from it; the caller gives them their meaning. */
export class SandboxChild {
  /** Nothing is left of it. */
  readonly ended: Promise<void>;
  readonly #options: SandboxChildOptions;
  readonly #end = Promise.withResolvers<void>();
  readonly #reader: FrameReader;
  #maxReplyCharacters = Infinity;
  #child: ChildProcess | undefined;
  #channel: Duplex | undefined;
  #output: ProcessOutput | undefined;
  #memory: MemoryWatch | undefined;
  #isOver = false;

  constructor(options: SandboxChildOptions) {
    this.#options = options;
    this.ended = this.#end.promise;
    this.#reader = new FrameReader({ maxJsonBytes: options.maxReplyBytes, maxBodyBytes: 0 });
    try {
      this.#spawn();
    } catch (error) {
      queueMicrotask(() => this.#finish(`could not be started: ${String(error)}`));
    }
  }

  /** Bytes of memory of its own; `undefined` where it cannot be known, or before `watchMemory`. */
  get memoryBytes(): number | undefined {
    return this.#memory?.read();
  }

  /** The process's complaint on stderr in one line, cut; empty when there is none. */
  get complaint(): string {
    return this.#output?.complaint ?? "";
  }

  /**
   * Once Node runs, behind whatever was started in front of it. Ends it where its memory should be watched and
   * cannot be, as when the gateway can open no more files.
   */
  watchMemory(): void {
    const { memoryWatch, processes } = this.#options.isolation;
    const pid = this.#child?.pid;
    const node = pid !== undefined && processes === "namespace" ? onlyChildOf(pid) : pid;
    this.#memory ??= node === undefined || this.#isOver ? undefined : MemoryWatch.open(node);
    if (memoryWatch && this.#memory === undefined) this.kill(UNWATCHED);
  }

  /** From now on a reply of more characters ends it, unread. */
  limitReplies(maxCharacters: number): void {
    this.#maxReplyCharacters = maxCharacters;
  }

  /** Forgets all that it wrote to stderr so far. */
  forgive(): void {
    this.#output?.forgive();
  }

  /** A request as JSON, and the bytes that go with it. */
  write(json: string, body?: Uint8Array): void {
    for (const chunk of encodeFrame(json, body)) this.#channel?.write(chunk);
  }

  /** Ends it at once. */
  kill(reason: string): void {
    // Its id may be another's by now.
    if (this.#isOver) return;
    killGroup(this.#child?.pid);
    this.#finish(reason);
  }

  #spawn(): void {
    const { child, channel, stderr } = spawnSandbox(this.#options);
    this.#child = child;
    this.#channel = channel;
    this.#output = new ProcessOutput(stderr, (bytes) => {
      if (bytes > MAX_STDERR_BYTES) this.kill("broke the protocol: it fills stderr");
    });
    child.once("error", (error) => this.#finish(`could not be started: ${error.message}`));
    // A process that its first process forked ends with that one.
    child.once("exit", () => killGroup(child.pid));
    child.once("close", (code, signal) => {
      const heap = heapMegabytes(this.#options.maxMemoryBytes);
      this.#finish(exitReason({ code, signal, stderr: this.#output?.tail ?? "", heapMegabytes: heap }));
      this.#end.resolve();
    });
    channel.on("data", (chunk: Buffer) => this.#take(chunk));
    const partWays = (): void => this.#awaitClose(child);
    channel.once("end", partWays).on("error", partWays);
  }

  /** It has nothing more to say; how it ends is known in a moment. */
  #awaitClose(child: ChildProcess): void {
    if (this.#isOver) return;
    const timer = setTimeout(() => this.kill("broke the protocol: it closed its connection"), FAREWELL_MS);
    child.once("close", () => clearTimeout(timer));
  }

  #take(chunk: Buffer): void {
    if (this.#isOver) return;
    try {
      this.#reader.push(chunk, ({ json }) => this.#read(json));
    } catch (error) {
      this.kill(`broke the protocol: ${reasonOf(error)}`);
    }
  }

  #read(json: string): void {
    if (this.#isOver) return;
    if (json.length > this.#maxReplyCharacters) {
      this.kill("broke the protocol: its result is too large");
      return;
    }
    const reply = readReply(json);
    const wrong = reply === undefined ? "it said what is no reply" : this.#options.onReply(reply, json.length);
    if (wrong !== undefined) this.kill(`broke the protocol: ${wrong}`);
  }

  #finish(reason: string): void {
    // Of what never had an id, there is no end to wait for.
    if (this.#child?.pid === undefined) this.#end.resolve();
    if (this.#isOver) return;
    this.#isOver = true;
    this.#memory?.close();
    this.#options.onEnd(reason);
  }
}
