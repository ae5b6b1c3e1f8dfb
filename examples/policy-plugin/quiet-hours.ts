import { WebhookIngress } from "reveille";
import type { Denial, GatewayHost, GatewayPlugin, RunSpec, SettledEvent } from "reveille";

/** As the `configSchema` in plugin.json has them: the gateway has held them to it before. */
export interface QuietHoursOptions {
  readonly timeZone: string;
  /** `HH:MM`. */
  readonly from: string;
  readonly to: string;
  readonly urgent?: readonly string[];
}

/** Refuses calls in the quiet hours, and counts how runs end. */
export default class QuietHours implements GatewayPlugin {
  readonly #options: QuietHoursOptions;
  readonly #localTime: Intl.DateTimeFormat;
  readonly #counts = { refused: 0, done: 0, failed: 0, canceled: 0, skipped: 0 };

  /** Throws for an option that the schema cannot check; that refuses the configuration. */
  constructor(options: QuietHoursOptions) {
    if (options.from === options.to) throw new Error("from and to are the same time: no hour would be quiet, or all");
    this.#options = options;
    this.#localTime = new Intl.DateTimeFormat("en-GB", {
      timeZone: options.timeZone,
      hour: "2-digit",
      minute: "2-digit",
      hourCycle: "h23",
    });
  }

  /** Taps and does nothing else. */
  apply(host: GatewayHost): void {
    const hooks = WebhookIngress.hooks(host);
    hooks.policy.tap("quiet-hours", (run) => this.#judge(run, host.clock.now()));
    hooks.settled.tap("quiet-hours", ({ state }: SettledEvent) => {
      this.#counts[state] += 1;
    });
    host.lifecycle.onShutdown.tap("quiet-hours", () => {
      host.logger.info({ ...this.#counts }, "What the quiet hours refused, and how runs ended.");
    });
  }

  /** The caller reads the sentence; `undefined`: the call is fine. */
  #judge({ name }: RunSpec, nowMs: number): Denial | undefined {
    const { from, to, timeZone, urgent = [] } = this.#options;
    if (urgent.includes(name) || !this.#isQuiet(this.#localTime.format(nowMs))) return undefined;
    this.#counts.refused += 1;
    return { deny: `Quiet hours: no call is taken from ${from} to ${to} (${timeZone}). Try again after ${to}.` };
  }

  /** Times of a day compare as their texts do. */
  #isQuiet(time: string): boolean {
    const { from, to } = this.#options;
    return from < to ? time >= from && time < to : time >= from || time < to;
  }
}
