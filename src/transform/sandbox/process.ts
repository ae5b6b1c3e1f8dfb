import { randomInt } from "node:crypto";
import type { TransformsConfig } from "../../config/transforms.ts";
import { megabytesText, millisecondsText } from "./exit-reason.ts";
import type { ModuleLog } from "./module-log.ts";
import type { SandboxCall } from "./call.ts";
import { SandboxChild } from "./child.ts";
import { SandboxLoadError, SandboxStartError } from "../errors.ts";
import type { SandboxModule, SandboxReply, SandboxRequest } from "./messages.ts";
import type { SandboxIsolation } from "./isolation/describe.ts";

/** The settings that all processes of a pool share. */
export interface SandboxProcessSettings {
  readonly isolation: SandboxIsolation;
  readonly folder: { readonly path: string; readonly name: string };
  readonly modules: readonly SandboxModule[];
  readonly limits: Pick<TransformsConfig, "timeoutMs" | "maxMemoryBytes" | "maxResultBytes">;
  /** Of each module. */
  readonly loadTimeoutMs: number;
  readonly log: ModuleLog;
  /** Milliseconds that have passed for processes: those in which the gateway itself stood still do not count. */
  readonly now: () => number;
  /** Instead of the sandbox's own worker. */
  readonly entry?: string | undefined;
}

export interface SandboxProcessEvents {
  /** The call at the head is settled, and the next one has begun. */
  readonly onAnswer: () => void;
  /** Called once, as soon as it is no longer usable. */
  readonly onEnd: (end: SandboxEnd) => void;
}

export interface SandboxEnd {
  /** Continues a sentence that begins with a module. */
  readonly reason: string;
  /** Those that were not answered, none of them settled. */
  readonly calls: readonly SandboxCall[];
  /** The first of them was being carried out. Otherwise only what was done before can have ended the process. */
  readonly hasBegun: boolean;
  /** The module that it answered last; `undefined` when the end was asked for. */
  readonly lastAnswered: number | undefined;
}

/** Time in which a process must report that it is up. */
const START_TIMEOUT_MS = 30_000;
const MAX_WINDOW = 16;
/** Bytes that are written ahead to one process; a single call may have more. */
const MAX_WINDOW_BYTES = 8_388_608;
/** Bytes of a reply besides its result. */
const ENVELOPE_BYTES = 16_384;
/** The failures of a load. */
const MAX_FAILURES_BYTES = 1_048_576;
/** Ids are below. */
const IDS = 2 ** 48 - 1;
/** Of one load or call; the process itself allows 20 lines. */
const MAX_LOG_LINES = 1_000;

/** One process that runs transforms, and the calls that it was sent. Whatever breaks the protocol ends it. */
export class SandboxProcess {
  /** All modules are loaded; rejects with {@link SandboxLoadError} or {@link SandboxStartError}. */
  readonly ready: Promise<void>;
  readonly #settings: SandboxProcessSettings;
  readonly #events: SandboxProcessEvents;
  readonly #readiness = Promise.withResolvers<void>();
  readonly #child: SandboxChild;
  /** Calls that were sent and not answered; only the first may have begun. */
  readonly #window: { readonly id: number; readonly call: SandboxCall }[] = [];
  #windowBytes = 0;
  #state: "starting" | "loading" | "ready" | "over" = "starting";
  #loading = -1;
  #hasBegun = false;
  #lastAnswered: number | undefined;
  #sent = 0;
  #logLines = 0;
  #since = 0;
  #dueAt = Infinity;

  constructor(settings: SandboxProcessSettings, events: SandboxProcessEvents) {
    this.#settings = settings;
    this.#events = events;
    this.ready = this.#readiness.promise;
    // Those that wait get the failure; later it must not end the process.
    this.ready.catch(() => {});
    this.#setDue(START_TIMEOUT_MS);
    this.#child = new SandboxChild({
      isolation: settings.isolation,
      folder: settings.folder.path,
      maxMemoryBytes: settings.limits.maxMemoryBytes,
      entry: settings.entry,
      maxReplyBytes: settings.limits.maxResultBytes + MAX_FAILURES_BYTES,
      onReply: (reply, characters) => this.#handle(reply, characters),
      onEnd: (reason) => this.#end(reason),
    });
  }

  /** Nothing is left of it. */
  get ended(): Promise<void> {
    return this.#child.ended;
  }

  /** Calls that were sent to it in all. */
  get sent(): number {
    return this.#sent;
  }

  /** Calls that were sent and not answered. */
  get depth(): number {
    return this.#window.length;
  }

  get isOver(): boolean {
    return this.#state === "over";
  }

  /** True while someone waits for it. */
  get isBusy(): boolean {
    return this.#state === "ready" ? this.depth > 0 : this.#state !== "over";
  }

  /** Bytes of memory of its own; `undefined` where it cannot be known. */
  get memoryBytes(): number | undefined {
    return this.#child.memoryBytes;
  }

  hasRoomFor(call: SandboxCall): boolean {
    if (this.depth === 0) return true;
    return this.depth < MAX_WINDOW && this.#windowBytes + call.bytes <= MAX_WINDOW_BYTES;
  }

  /** Sends a call to a process that is ready; it is carried out after those sent before. */
  send(call: SandboxCall): void {
    this.#sent++;
    // A module that knew it in advance could answer instead of the next one.
    const id = randomInt(IDS);
    this.#window.push({ id, call });
    this.#windowBytes += call.bytes;
    if (this.depth === 1) this.#setDue(this.#settings.limits.timeoutMs);
    // The context is JSON already.
    const { module, readsBody, context, rawBody } = call;
    const head = `{"do":"call","id":${id},"module":${module},"readsBody":${readsBody}`;
    this.#child.write(`${head},"context":${context}}`, rawBody);
  }

  /** Looks at its time, and at its memory when it has been at one thing for `patienceMs`, `isThorough` always. */
  check({ isThorough, patienceMs }: { isThorough: boolean; patienceMs: number }): void {
    if (this.#state === "over") return;
    const now = this.#settings.now();
    if (now >= this.#dueAt) this.#child.kill(this.#lateness());
    else if (isThorough || (this.isBusy && now - this.#since >= patienceMs)) this.#checkMemory();
  }

  /** Ends it at once, and no module is to blame; `reason` continues a sentence that begins with one. */
  kill(reason: string): void {
    this.#lastAnswered = undefined;
    this.#child.kill(reason);
  }

  #checkMemory(): void {
    const { maxMemoryBytes } = this.#settings.limits;
    const bytes = this.memoryBytes;
    if (bytes !== undefined && bytes > maxMemoryBytes)
      this.#child.kill(`used more than ${megabytesText(maxMemoryBytes)} of memory`);
  }

  #lateness(): string {
    const { limits, loadTimeoutMs } = this.#settings;
    if (this.#state === "ready") {
      const within = millisecondsText(limits.timeoutMs);
      return this.#hasBegun ? `took longer than ${within}` : `kept its process from the next call for ${within}`;
    }
    return `was not done after ${millisecondsText(this.#state === "starting" ? START_TIMEOUT_MS : loadTimeoutMs)}`;
  }

  /** Tells what is wrong with a reply; nothing, as a rule. */
  #handle(reply: SandboxReply, characters: number): string | undefined {
    switch (reply.is) {
      case "up":
        return this.#load();
      case "loading":
        return this.#loadNext(reply.module);
      case "loaded":
        return this.#loaded(reply.failures);
      case "log":
        if (++this.#logLines > MAX_LOG_LINES) return "it wrote too many lines";
        if (characters > ENVELOPE_BYTES) return "it wrote a line that is too long";
        this.#settings.log.write(reply, this.#currentModule());
        return undefined;
      case "begun":
        return this.#begin(reply.id);
      case "returned":
      case "failed":
        return this.#answer(reply);
    }
  }

  #load(): string | undefined {
    if (this.#state !== "starting") return "it said twice that it is up";
    const { folder, modules, limits, loadTimeoutMs } = this.#settings;
    this.#state = "loading";
    this.#setDue(loadTimeoutMs);
    this.#child.watchMemory();
    const request: SandboxRequest = { do: "load", folder, modules, maxResultBytes: limits.maxResultBytes };
    this.#child.write(JSON.stringify(request));
    return undefined;
  }

  /** In their order, so that none is given more time by being named again and again. */
  #loadNext(module: number): string | undefined {
    if (this.#state !== "loading" || module <= this.#loading) return "it loads a module out of turn";
    if (module >= this.#settings.modules.length) return "it loads an unknown module";
    this.#loading = module;
    this.#logLines = 0;
    this.#setDue(this.#settings.loadTimeoutMs);
    return undefined;
  }

  #loaded(failures: SandboxLoadError["failures"]): string | undefined {
    if (this.#state !== "loading") return "it has loaded an unknown module";
    if (failures.some(({ module }) => module >= this.#settings.modules.length)) return "it reports unknown modules";
    if (failures.length > 0) {
      this.#readiness.reject(new SandboxLoadError(failures));
      this.#child.kill("could not load its modules");
      return undefined;
    }
    this.#state = "ready";
    this.#child.limitReplies(this.#settings.limits.maxResultBytes + ENVELOPE_BYTES);
    this.#dueAt = Infinity;
    this.#readiness.resolve();
    return undefined;
  }

  /** The remains of other calls have had their time; that of the call begins now. */
  #begin(id: number): string | undefined {
    if (this.#hasBegun || this.#window[0]?.id !== id) return "it begins what is not its turn";
    this.#hasBegun = true;
    this.#setDue(this.#settings.limits.timeoutMs);
    return undefined;
  }

  #answer(reply: Extract<SandboxReply, { is: "returned" | "failed" }>): string | undefined {
    const head = this.#window[0];
    if (head === undefined || head.id !== reply.id) return "it answers an unknown call";
    if (!this.#hasBegun) return "it answers what it has not begun";
    this.#window.shift();
    this.#hasBegun = false;
    this.#lastAnswered = head.call.module;
    this.#windowBytes -= head.call.bytes;
    this.#logLines = 0;
    this.#child.forgive();
    if (reply.is === "returned") head.call.resolve(reply.value);
    else head.call.fail("failed", reply.reason);
    if (this.depth > 0) this.#setDue(this.#settings.limits.timeoutMs);
    else this.#dueAt = Infinity;
    this.#events.onAnswer();
    return undefined;
  }

  #setDue(inMs: number): void {
    this.#since = this.#settings.now();
    this.#dueAt = this.#since + inMs;
  }

  /** The one it is at, as messages name it. */
  #currentModule(): string | undefined {
    const { folder, modules } = this.#settings;
    const place = this.#state === "ready" ? this.#window[0]?.call.module : this.#loading;
    const file = place === undefined ? undefined : modules[place]?.file;
    return file === undefined ? undefined : `${folder.name}/${file}`;
  }

  #end(reason: string): void {
    if (this.#state === "starting" || this.#state === "loading") this.#readiness.reject(this.#loadError(reason));
    this.#state = "over";
    const calls = this.#window.splice(0).map(({ call }) => call);
    this.#windowBytes = 0;
    this.#events.onEnd({ reason, calls, hasBegun: this.#hasBegun, lastAnswered: this.#lastAnswered });
  }

  #loadError(reason: string): Error {
    const module = this.#currentModule();
    if (module !== undefined) {
      return new SandboxLoadError([{ module: this.#loading, message: `${module}: ${reason} while it was loaded` }]);
    }
    const { complaint } = this.#child;
    return new SandboxStartError(complaint === "" ? reason : `${reason}: ${complaint}`);
  }
}
