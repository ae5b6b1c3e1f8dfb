import { isKnownAgent } from "../../config/mapping/rules.ts";
import { sessionKeyProblem, withoutAgent } from "../../config/session.ts";
import { WaitRefused, type WaitWish } from "../../config/wait-wish.ts";
import { isRefusal } from "../../core/errors.ts";
import type { ReplyTarget } from "../../core/run.ts";
import type { Wait } from "../../core/wait.ts";
import { chooseAgent } from "../../policy/agent.ts";
import { resolveTarget } from "../../policy/target.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { IngressContext } from "../context.ts";
import { explainWait } from "../waits/explain-wait.ts";
import type { WaitBook } from "../waits/wait-book.ts";
import type { WaitRequest, WaitTrial } from "../waits/wait-request.ts";
import { boundsOf, noRoomText, storedWait, type Waiter, waitOf } from "../waits/wait-terms.ts";
import { backtestWait, type TrialPeriod, type TriedWait } from "./wait-backtest.ts";

/** A wait as a person and an agent see it; times are ISO 8601 UTC. */
export interface WaitView extends Pick<Wait, "id" | "agentId" | "sessionKey" | "note" | "all" | "any" | "none"> {
  readonly quietSeconds: number | null;
  readonly until: string;
  readonly times: number;
  readonly minLevel: Wait["minLevel"];
  readonly instead: boolean;
  readonly createdAt: string;
  readonly madeBy: string | null;
  /** The mapping whose event made it. */
  readonly mapping: string | null;
  readonly seen: readonly { readonly at: string; readonly hook: string; readonly event: string | null }[];
  /** Why it has not been fulfilled yet. */
  readonly explanation: readonly string[];
}

export interface WaitOperationsOptions {
  readonly ingress: Pick<IngressContext, "host" | "store">;
  readonly book: WaitBook;
  readonly active: () => ActiveConfig;
}

/** Makes, lists and cancels waits. */
export class WaitOperations {
  readonly #options: WaitOperationsOptions;

  constructor(options: WaitOperationsOptions) {
    this.#options = options;
  }

  /** Those that are open, by their deadlines. */
  async list(): Promise<readonly WaitView[]> {
    const { book } = this.#options;
    await book.refresh({ all: true });
    const waits = [...book.all()].map(({ wait }) => wait);
    return waits.toSorted((left, right) => left.until - right.until || (left.id < right.id ? -1 : 1)).map(viewOf);
  }

  async get(id: string): Promise<WaitView | undefined> {
    const { book } = this.#options;
    await book.refresh({ all: true });
    const known = book.get(id);
    return known && viewOf(known.wait);
  }

  /** Makes a wait at a person's wish. Rejects with a {@link WaitRefused}. */
  async add({ agentId, sessionKey, reply, ...wish }: WaitRequest): Promise<WaitView> {
    const { host } = this.#options.ingress;
    const named = host.agents.resolve(agentId).id;
    const isKnown = agentId === undefined || isKnownAgent(host.agents, agentId);
    const id = isKnown ? chooseAgent(host.agents, this.#options.active().config, named) : undefined;
    if (typeof id !== "string")
      throw new WaitRefused(`No run may begin for an agent ${JSON.stringify(agentId ?? named)}.`);
    return this.make(wish, {
      agentId: id,
      sessionKey: this.#sessionOf(id, sessionKey),
      level: "owner",
      rights: {},
      madeBy: null,
      delivery: reply && (await this.#targetOf(id, reply)),
    });
  }

  /** Makes a wait of the session that `waiter` names. Rejects with a {@link WaitRefused}. */
  async make(wish: WaitWish, waiter: Waiter): Promise<WaitView> {
    const { ingress, book, active } = this.#options;
    const wait = waitOf(active(), wish, waiter, ingress.host.clock.now());
    const problem = book.index.problem([...wait.all, ...wait.any, ...wait.none]);
    if (problem !== undefined) throw new WaitRefused(problem);
    const { id, sessionKey: session } = wait;
    const bounds = boundsOf(active().config.waits);
    const added = await ingress.store.addWait(storedWait(wait), bounds);
    if (added !== "added") throw new WaitRefused(noRoomText(added, bounds));
    await book.refresh();
    ingress.host.logger.info({ wait: id, session, madeBy: wait.madeBy }, "a session waits");
    return viewOf(wait);
  }

  /** When a wait would have been fulfilled by what is stored. Rejects with a {@link WaitRefused}. */
  backtest(trial: WaitTrial, period: TrialPeriod): Promise<TriedWait> {
    const { ingress, active } = this.#options;
    return backtestWait({ ingress, active: active() }, trial, period);
  }

  /** False when there is none. */
  async cancel(id: string): Promise<boolean> {
    const { ingress, book } = this.#options;
    const isRemoved = await ingress.store.removeWait(id);
    book.forget(id);
    return isRemoved;
  }

  #sessionOf(agentId: string, key: string | undefined): string {
    if (key === undefined) return this.#options.ingress.host.sessions.mainSessionKey(agentId);
    const problem = sessionKeyProblem(key);
    if (problem !== undefined) throw new WaitRefused(`sessionKey ${problem}.`);
    return `agent:${agentId}:${withoutAgent(key)}`;
  }

  async #targetOf(agentId: string, reply: NonNullable<WaitRequest["reply"]>): Promise<ReplyTarget> {
    const target = await resolveTarget(this.#options.ingress.host.channels, {
      channel: reply.channel,
      to: reply.to,
      agentId,
    });
    if (isRefusal(target)) throw new WaitRefused(target.message ?? "reply names no channel of this gateway.");
    return target;
  }
}

function viewOf(wait: Wait): WaitView {
  const { id, agentId, sessionKey, note, all, any, none, times, minLevel, instead, madeBy } = wait;
  return {
    id,
    agentId,
    sessionKey,
    note,
    all,
    any,
    none,
    quietSeconds: none.length === 0 ? null : wait.quietMs / 1_000,
    until: iso(wait.until),
    times,
    minLevel,
    instead,
    createdAt: iso(wait.createdAt),
    madeBy,
    mapping: wait.mapping ?? null,
    seen: wait.seen.map(({ at, hook, event }) => ({ at: iso(at), hook, event })),
    explanation: explainWait(wait),
  };
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
