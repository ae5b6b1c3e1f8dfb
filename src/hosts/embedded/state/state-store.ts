/** The state of the embedded gateway, as its parts read and write it: sessions, events, the outbox, approvals. */
import { stateError } from "../../shared/write-state.ts";
import { approvalReads } from "./approval-reads.ts";
import { outboxReads } from "./outbox-reads.ts";
import { sessionReads } from "./session-reads.ts";
import type { StateTask } from "./state-task.ts";
import type { StateWrites } from "./state-writes.ts";
import { subscriptionReads } from "./subscription-tasks.ts";

export const stateReads = { ...sessionReads, ...outboxReads, ...approvalReads, ...subscriptionReads };

type Tasks = Readonly<Record<string, (...args: never) => StateTask<unknown>>>;
export type ArgsOf<Of extends Tasks, Name extends keyof Of> = Parameters<Of[Name]>;
export type ResultOf<Of extends Tasks, Name extends keyof Of> =
  ReturnType<Of[Name]> extends StateTask<infer Result> ? Result : never;

export type Reads = typeof stateReads;
export type ReadName = keyof Reads;
export type WriteName = keyof StateWrites;

export interface StateStore {
  /** True: other gateways write to it as well. */
  readonly isShared: boolean;
  /**
   * Resolves when the write would survive a power failure. Rejects with an error whose `code` is `UNAVAILABLE`,
   * `CLOSED` or `FAILED`; a gateway that another one has replaced writes nothing.
   */
  write<Name extends WriteName>(name: Name, ...args: ArgsOf<StateWrites, Name>): Promise<ResultOf<StateWrites, Name>>;
  /** Sees every write that has resolved. */
  read<Name extends ReadName>(name: Name, ...args: ArgsOf<Reads, Name>): Promise<ResultOf<Reads, Name>>;
  /** The name of a write for another commit of the same database; `undefined` where it has none that others share. */
  operation(name: WriteName): string | undefined;
  /** Rejects while nothing can be written. */
  tryWrite(): Promise<void>;
  /** Rejects where another gateway may have taken the place of this one: then it must not begin what one begins for all. */
  confirmPlace(): Promise<void>;
}

/** The task of a read, by its name. */
export function readTask<Name extends ReadName>(
  name: Name,
  args: ArgsOf<Reads, Name>,
): StateTask<ResultOf<Reads, Name>> {
  const task = stateReads[name] as (...args: ArgsOf<Reads, Name>) => StateTask<ResultOf<Reads, Name>>;
  return task(...args);
}

/** A write whose failure becomes a `HostError`; `what` begins its message. */
export async function writeTo<Name extends WriteName>(
  state: StateStore,
  what: string,
  name: Name,
  ...args: ArgsOf<StateWrites, Name>
): Promise<ResultOf<StateWrites, Name>> {
  try {
    return await state.write(name, ...args);
  } catch (error) {
    throw stateError(error, what);
  }
}
