import { setTimeout as sleep } from "node:timers/promises";
import type { Mark, Sender } from "./call-mark.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { makeCall } from "./sender-call.ts";
import type { SenderCall } from "./sender-call.ts";

/** A call that was answered 2xx, and what the answer named. */
export interface Acknowledged {
  readonly call: SenderCall;
  readonly status: number;
  readonly deliveryId: string | undefined;
}

/** What every sender waits for an answer; GitHub gives up after as long. */
const ANSWER_TIMEOUT_MS = 10_000;
/** Lanes of each sender. */
const LANES = 3;
/** Deliveries of GitHub that failed and wait for a person, over which no event happens. */
const MAX_UNDELIVERED = 20;
/** How often a call that was answered 2xx is sent again all the same. */
const REPEATED = 0.1;

/**
 * Senders that keep calling until they are stopped, and then see each of their calls through.
 *
 * Stripe and a shell loop (`curl --retry`) try again until they are answered 2xx, which keeps the calls of
 * a lane in their order. GitHub tries once; a person presses "Redeliver" later. What was answered 2xx is
 * at times sent once more.
 */
export class TortureClients {
  readonly acknowledged: Acknowledged[] = [];
  /** Of all that is acknowledged, what has a run of its own. */
  readonly runs = new Set<Mark>();
  /** Answers by status; `none` when the connection broke. */
  readonly answers = new Map<string, number>();
  readonly #url: () => string;
  readonly #isOverloaded: () => boolean;
  readonly #random: SeededRandom;
  readonly #undelivered: SenderCall[] = [];
  readonly #stop = new AbortController();
  readonly #loops: Promise<void>[] = [];
  #calling = 0;

  constructor(options: { url: () => string; isOverloaded: () => boolean; random: SeededRandom }) {
    this.#url = options.url;
    this.#isOverloaded = options.isOverloaded;
    this.#random = options.random;
  }

  start(): void {
    for (let lane = 0; lane < LANES; lane++) {
      this.#loops.push(
        this.#keepCalling("stripe", lane, (call) => this.#callUntilTaken(call)),
        this.#keepCalling("shell", lane, (call) => this.#callUntilTaken(call)),
        this.#keepCalling("github", lane, (call) => this.#callOnce(call)),
        this.#keepCalling("report", lane, (call) => this.#callUntilTaken(call)),
        this.#keepCalling("batch", lane, (call) => this.#callUntilTaken(call)),
        this.#keepCalling("flaky", lane, (call) => this.#callUntilTaken(call), { pauseMs: 2_000 }),
        this.#keepCalling("burst", lane, (call) => this.#callUntilTaken(call), { pauseMs: 50 }),
      );
    }
    this.#loops.push(
      this.#keepCalling("wake", 0, (call) => this.#callUntilTaken(call)),
      this.#redeliver(),
    );
  }

  /** No further calls are begun; resolves when every one that was begun is acknowledged. */
  async finish(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#loops);
  }

  async #keepCalling(
    sender: Sender,
    lane: number,
    send: (call: SenderCall) => Promise<void>,
    { pauseMs = 200 }: { pauseMs?: number } = {},
  ): Promise<void> {
    this.#calling++;
    for (let number = 0; !this.#stop.signal.aborted;) {
      const count = sender === "batch" ? this.#random.between(1, 5) : 1;
      const marks = Array.from({ length: count }, (_, at): Mark => `${sender}-${lane}-${number + at}`);
      number += count;
      await send(makeCall(sender, marks));
      await this.#pause(pauseMs);
      while (this.#mustWait()) await this.#pause(200);
    }
    this.#calling--;
  }

  #mustWait(): boolean {
    if (this.#stop.signal.aborted) return false;
    return this.#isOverloaded() || this.#undelivered.length > MAX_UNDELIVERED;
  }

  async #callUntilTaken(call: SenderCall): Promise<void> {
    while (!(await this.#try(call))) await sleep(this.#random.between(20, 200));
    if (this.#random.next() < REPEATED) await this.#try(call);
  }

  async #callOnce(call: SenderCall): Promise<void> {
    const taken = await this.#try(call);
    if (!taken || this.#random.next() < REPEATED) this.#undelivered.push(call);
  }

  /** The person who looks at GitHub's list of deliveries. */
  async #redeliver(): Promise<void> {
    for (;;) {
      const call = this.#undelivered.shift();
      if (call !== undefined && !(await this.#try(call))) this.#undelivered.push(call);
      if (call === undefined && this.#stop.signal.aborted && this.#calling === 0) return;
      await sleep(this.#random.between(20, 100));
    }
  }

  async #try(call: SenderCall): Promise<boolean> {
    try {
      const response = await fetch(`${this.#url()}${call.path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...call.headers() },
        body: call.body,
        signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      });
      // An answer that was cut off is none.
      const text = await response.text();
      this.#count(String(response.status));
      if (!response.ok) return false;
      const { deliveryId } = (text === "" ? {} : JSON.parse(text)) as { deliveryId?: string };
      this.acknowledged.push({ call, status: response.status, deliveryId });
      if (call.sender !== "wake" && call.sender !== "burst") for (const mark of call.marks) this.runs.add(mark);
      return true;
    } catch {
      this.#count("none");
      return false;
    }
  }

  #count(answer: string): void {
    this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1);
  }

  async #pause(atMostMs: number): Promise<void> {
    await sleep(this.#random.between(1, atMostMs), undefined, { signal: this.#stop.signal }).catch(() => {});
  }
}
