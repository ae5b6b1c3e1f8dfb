import { setTimeout as sleep } from "node:timers/promises";
import type { GatewayProcess } from "../integration/gateway-process.ts";

/** Between calls of a burst, and after one. Four gateways leave a third of the time of two cores unused then, restarts included. */
const PAUSE_MS = 20;
const BURST = 5;
const REST_MS = 1_200;
/** After which a load balancer sends a call to another gateway. */
const ANSWER_MS = 1_500;
/** Calls that are acknowledged between two faults. */
const BETWEEN = 40;
/** Calls whose run has not begun: the senders call no faster than they are carried out. */
const MAX_WAITING = 100;

/** True for a session whose runs see what was said before. */
export function isConversation(session: number): boolean {
  return session % 2 === 0;
}

export interface SeveralClientsOptions {
  readonly sessions: number;
  readonly gateways: readonly GatewayProcess[];
  /** Calls whose turn has begun so far. */
  readonly begun: () => number;
}

/**
 * Senders behind a load balancer: each calls for its session in bursts, one call after the other, at one gateway after the other.
 * A call that is not acknowledged is sent to the next gateway with the same idempotency key.
 */
export class SeveralClients {
  /** `<session>-<number>` of each, in the order of the answers. */
  readonly acknowledged: string[] = [];
  /** When each was answered, on the clock of this process. */
  readonly answeredAt = new Map<string, number>();
  elsewhere = 0;
  readonly #gateways: readonly GatewayProcess[];
  readonly #begun: () => number;
  readonly #ending = new AbortController();
  readonly #senders: readonly Promise<void>[];
  #next = 0;

  constructor({ sessions, gateways, begun }: SeveralClientsOptions) {
    this.#gateways = gateways;
    this.#begun = begun;
    this.#senders = Array.from({ length: sessions }, (_, session) => this.#send(session));
  }

  /** Resolves when some more calls are acknowledged. */
  async progress(): Promise<void> {
    const until = this.acknowledged.length + BETWEEN;
    while (this.acknowledged.length < until) await sleep(5);
  }

  /** Resolves when the calls that are on their way are acknowledged. */
  async end(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#senders);
  }

  async #send(session: number): Promise<void> {
    for (let number = 0; !this.#ending.signal.aborted; number++) {
      while (this.acknowledged.length - this.#begun() > MAX_WAITING && !this.#ending.signal.aborted)
        await sleep(PAUSE_MS);
      const call = `${session}-${number}`;
      while (!(await this.#isTaken(call, session))) this.elsewhere++;
      this.acknowledged.push(call);
      this.answeredAt.set(call, performance.now());
      await sleep(number % BURST === BURST - 1 ? REST_MS : PAUSE_MS);
    }
  }

  async #isTaken(call: string, session: number): Promise<boolean> {
    const gateway = this.#gateways[this.#next++ % this.#gateways.length]!;
    const payload = {
      message: `call ${call}.`,
      name: call,
      sessionKey: `hook:${session}`,
      wakeMode: "next-heartbeat",
      deliver: false,
      sessionMode: isConversation(session) ? "persistent" : "isolated",
    };
    const late = sleep(ANSWER_MS).then(() => undefined);
    const answer = gateway.post("/hooks/agent", payload, { "idempotency-key": call }).catch(() => undefined);
    const status = (await Promise.race([answer, late]))?.status ?? 0;
    if (status >= 400 && status < 500) throw new Error(`Call ${call} was answered ${status}.`);
    return status === 200 || status === 202;
  }
}
