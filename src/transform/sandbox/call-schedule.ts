import { Fifo } from "./fifo.ts";
import type { SandboxCall } from "./call.ts";

/** A schedule's view of a process. */
export interface ScheduledProcess {
  /** Calls that were sent and not answered. */
  readonly depth: number;
  hasRoomFor(call: SandboxCall): boolean;
  send(call: SandboxCall): void;
}

export interface CallScheduleOptions {
  readonly modules: number;
  readonly workers: number;
}

/** The calls of one module. */
interface ModuleQueue {
  readonly waiting: Fifo<SandboxCall>;
  readonly members: Set<Member>;
  /** It is in the list of those that want a process. */
  isListed: boolean;
  /** It was answered since it last ended a process. */
  isTrusted: boolean;
  /** It has ended a process. */
  hasOffended: boolean;
}

/** A process, and the module that it works for. */
interface Member {
  readonly process: ScheduledProcess;
  queue: ModuleQueue | undefined;
  /** The module that it worked for before it rested. */
  last: ModuleQueue | undefined;
  /** Calls since it took up the module. */
  taken: number;
  isLeaving: boolean;
}

/** Calls after which a process is free for another module that waits. */
const TURN = 16;

/**
 * Which call goes to which process. A process works for one module at a time; modules take turns. A module
 * that was not answered since it last ended a process never has the last one that others could have, so
 * that those that end one process after the other leave the rest without none.
 *
 * A call costs the same whatever number of modules and of waiting calls there is.
 */
export class CallSchedule {
  readonly #queues: readonly ModuleQueue[];
  /** Processes that work for one module at a time. */
  readonly #maxShare: number;
  readonly #workers: number;
  readonly #members = new Map<ScheduledProcess, Member>();
  readonly #resting = new Set<Member>();
  /** Modules with waiting calls that may have one process more. */
  readonly #wanting = new Fifo<ModuleQueue>();
  #waiting = 0;

  constructor({ modules, workers }: CallScheduleOptions) {
    this.#maxShare = Math.max(1, workers - 1);
    this.#workers = workers;
    this.#queues = Array.from({ length: modules }, () => ({
      waiting: new Fifo<SandboxCall>(),
      members: new Set<Member>(),
      isListed: false,
      isTrusted: false,
      hasOffended: false,
    }));
  }

  /** Calls that no process was sent. */
  get waiting(): number {
    return this.#waiting;
  }

  waitingOf(module: number): number {
    return this.#queues[module]?.waiting.size ?? 0;
  }

  /** A process that is ready takes part. */
  join(process: ScheduledProcess): void {
    const idle = { queue: undefined, last: undefined, taken: 0, isLeaving: false };
    const member: Member = { process, ...idle };
    this.#members.set(process, member);
    this.#rest(member);
  }

  /** The process is sent nothing more; true when it has nothing in progress, and is forgotten. */
  retire(process: ScheduledProcess): boolean {
    const member = this.#members.get(process);
    if (member === undefined) return false;
    member.isLeaving = true;
    if (process.depth > 0) return false;
    this.leave(process);
    return true;
  }

  /** The process is gone; `offender` is the module that has ended it, if one has. */
  leave(process: ScheduledProcess, offender?: number): void {
    const member = this.#members.get(process);
    if (member === undefined) return;
    const queue = offender === undefined ? undefined : this.#queues[offender];
    if (queue !== undefined) {
      queue.isTrusted = false;
      queue.hasOffended = true;
    }
    this.#members.delete(process);
    this.#resting.delete(member);
    this.#release(member);
    this.#wakeResting();
  }

  /** Sends a call at once if it can, else lets it wait. */
  add(call: SandboxCall): void {
    const queue = this.#queueOf(call);
    const member = queue.waiting.size === 0 ? this.#memberFor(queue, call) : undefined;
    if (member !== undefined) {
      this.#send(member, call);
      return;
    }
    queue.waiting.push(call);
    this.#waiting++;
    this.#list(queue);
  }

  /** Puts calls of a process that is gone before those that wait; they are of one module, in their order. */
  restore(calls: readonly SandboxCall[]): void {
    const [first] = calls;
    if (first === undefined) return;
    const queue = this.#queueOf(first);
    for (const call of calls.toReversed()) queue.waiting.unshift(call);
    this.#waiting += calls.length;
    this.#list(queue);
    for (const member of queue.members) this.#fill(member, queue);
    this.#wakeResting();
  }

  /** A process has answered, and has room. */
  refill(process: ScheduledProcess): void {
    const member = this.#members.get(process);
    if (member?.queue === undefined) return;
    if (member.queue.isTrusted) return this.#fill(member, member.queue);
    member.queue.isTrusted = true;
    this.#fill(member, member.queue);
    this.#wakeResting();
  }

  #fill(member: Member, queue: ModuleQueue): void {
    const { process } = member;
    const { waiting } = queue;
    while (waiting.first !== undefined && this.#mayTake(member, waiting.first)) this.#sendFirst(member, queue);
    if (process.depth > 0) return;
    this.#release(member);
    if (member.isLeaving) this.#wakeResting();
    else this.#rest(member);
  }

  /** Takes out the calls that were asked for before a time. */
  expire(before: number): readonly SandboxCall[] {
    const expired: SandboxCall[] = [];
    if (this.#waiting === 0) return expired;
    for (const { waiting } of this.#queues) {
      while (waiting.first !== undefined && waiting.first.askedAt < before) expired.push(this.#take(waiting));
    }
    return expired;
  }

  #queueOf({ module }: SandboxCall): ModuleQueue {
    const queue = this.#queues[module];
    if (queue === undefined) throw new RangeError(`there is no module ${module}`);
    return queue;
  }

  #memberFor(queue: ModuleQueue, call: SandboxCall): Member | undefined {
    if (this.#mayHaveOneMore(queue)) {
      const resting = this.#pickResting(queue);
      if (resting !== undefined) return this.#assign(resting, queue);
    }
    let best: Member | undefined;
    for (const member of queue.members) {
      if (this.#mayTake(member, call) && (best === undefined || member.process.depth < best.process.depth))
        best = member;
    }
    return best;
  }

  /** Rather one that knows the module already. */
  #pickResting(queue: ModuleQueue): Member | undefined {
    let found: Member | undefined;
    for (const member of this.#resting) {
      if (member.last === queue) return member;
      // A fresh one has nothing of another module in it.
      if (found === undefined || member.last === undefined) found = member;
    }
    return found;
  }

  #mayTake(member: Member, call: SandboxCall): boolean {
    if (member.isLeaving || !member.process.hasRoomFor(call)) return false;
    return member.taken < TURN || this.#wanting.size === 0;
  }

  #assign(member: Member, queue: ModuleQueue): Member {
    this.#resting.delete(member);
    member.queue = queue;
    member.last = queue;
    member.taken = 0;
    queue.members.add(member);
    return member;
  }

  /**
   * One that is not trusted leaves one process to those that are. One that is new may have it all the same when
   * none is missing: it would wait for as long as an endless one takes, and soon is known for what it is.
   */
  #mayHaveOneMore(queue: ModuleQueue): boolean {
    if (queue.members.size >= this.#maxShare) return false;
    if (queue.isTrusted || this.#workers === 1) return true;
    let present = 0;
    let left = 0;
    for (const { queue: held, isLeaving } of this.#members.values()) {
      if (isLeaving) continue;
      present++;
      if (held === undefined || held.isTrusted) left++;
    }
    return left > (present < this.#workers || queue.hasOffended ? 1 : 0);
  }

  #release(member: Member): void {
    const { queue } = member;
    if (queue === undefined) return;
    member.queue = undefined;
    queue.members.delete(member);
    this.#list(queue);
  }

  /** Takes up the module whose turn it is, if there is one. */
  #rest(member: Member): void {
    for (let left = this.#wanting.size; left > 0; left--) {
      const queue = this.#wanting.shift();
      if (queue === undefined) break;
      queue.isListed = false;
      if (queue.waiting.size === 0) continue;
      if (!this.#mayHaveOneMore(queue)) {
        this.#list(queue);
        continue;
      }
      this.#assign(member, queue);
      this.#sendFirst(member, queue);
      this.#list(queue);
      this.#fill(member, queue);
      return;
    }
    this.#resting.add(member);
  }

  /** Modules may have come to want a process while some rest. */
  #wakeResting(): void {
    for (const member of Array.from(this.#resting)) {
      if (this.#wanting.size === 0) return;
      // It may be put back at once, so the loop goes over a copy.
      this.#resting.delete(member);
      this.#rest(member);
    }
  }

  #list(queue: ModuleQueue): void {
    if (queue.isListed || queue.waiting.size === 0 || queue.members.size >= this.#maxShare) return;
    queue.isListed = true;
    this.#wanting.push(queue);
  }

  #sendFirst(member: Member, queue: ModuleQueue): void {
    this.#send(member, this.#take(queue.waiting));
  }

  #take(waiting: Fifo<SandboxCall>): SandboxCall {
    const call = waiting.shift();
    if (call === undefined) throw new Error("nothing waits");
    this.#waiting--;
    return call;
  }

  #send(member: Member, call: SandboxCall): void {
    member.taken++;
    member.process.send(call);
  }
}
