import { withTimeout } from "../run/with-timeout.ts";
import { sanitizeUntrusted } from "../../core/boundary/sanitize-untrusted.ts";
import { wrapUntrusted } from "../../core/boundary/wrap-untrusted.ts";
import type { HooksConfig } from "../../config/hooks.ts";
import type { HasSecret } from "../../core/outgoing/secret-index.ts";
import { isRefusal } from "../../core/errors.ts";
import type { GatewayHost, Logger } from "../../core/host.ts";
import { resolveTarget } from "../../policy/target.ts";
import type { Notice, Notices } from "../context.ts";
import { cut } from "../run/summary.ts";
import { BRIEF_RETRY, retrying } from "../run/retry.ts";
import type { RetrySchedule } from "../context.ts";

/** Keys of notices that are remembered in memory; the host remembers them besides. */
const MAX_KEYS = 1_000;
const MAX_TEXT = 2_000;
const MAX_DETAIL = 500;
/** The source of a detail, as the boundary names it. */
const SOURCE = "Error message";
const LEFT_OUT = "(left out: it has a secret of the gateway)";

export interface OwnerNoticesOptions {
  readonly host: Pick<GatewayHost, "agents" | "channels" | "sessions">;
  readonly logger: Logger;
  /** The channel for notices besides the main session, by the active configuration. */
  readonly target: () => HooksConfig["notices"];
  /** Finds the secrets of the gateway, by the active configuration. */
  readonly hasSecret?: HasSecret;
  /** Aborted when there is no time left to try again. */
  readonly abandon?: AbortSignal;
  /** Absent: about a quarter of a minute. */
  readonly retry?: RetrySchedule;
}

/**
 * Notifies the owner: with a system event in the default agent's main session and a heartbeat, and with a
 * message on a chosen channel. A notice that cannot be sent is logged.
 *
 * The words of others, at most 500 characters of them, stand inside the boundary where an agent reads them,
 * and as plain text on the channel, where a person does.
 */
export class OwnerNotices implements Notices {
  readonly #options: OwnerNoticesOptions;
  readonly #abandon: AbortSignal;
  readonly #sent = new Set<string>();

  constructor(options: OwnerNoticesOptions) {
    this.#options = options;
    this.#abandon = options.abandon ?? new AbortController().signal;
  }

  async notify({ key, text, detail = "" }: Notice): Promise<void> {
    if (this.#sent.has(key)) return;
    this.#remember(key);
    const { logger } = this.#options;
    const failed = (error: unknown): void => {
      logger.error({ err: error, notice: key }, "a notice could not be sent");
    };
    const idempotencyKey = `notice:${key}`;
    // Names that a configuration gives are in it.
    const notice = `Notice of the webhook ingress: ${cut(sanitizeUntrusted(text), MAX_TEXT)}`;
    const said = this.#options.hasSecret?.(detail) === true ? LEFT_OUT : detail.trim();
    const words = cut(said, MAX_DETAIL);
    const event = words === "" ? notice : `${notice}\n\n${wrapUntrusted(words, { source: SOURCE })}`;
    const message = words === "" ? notice : `${notice}\n\n${sanitizeUntrusted(words)}`;
    await Promise.all([
      this.#post({ text: event, idempotencyKey }).catch(failed),
      this.#send({ text: message, idempotencyKey }).catch(failed),
    ]);
  }

  #remember(key: string): void {
    const [oldest] = this.#sent;
    if (oldest !== undefined && this.#sent.size >= MAX_KEYS) this.#sent.delete(oldest);
    this.#sent.add(key);
  }

  async #post(notice: { text: string; idempotencyKey: string }): Promise<void> {
    const { agents, sessions } = this.#options.host;
    const agentId = agents.resolve(undefined).id;
    const sessionKey = sessions.mainSessionKey(agentId);
    await this.#retrying(async () => void (await sessions.enqueueSystemEvent({ sessionKey, ...notice })));
    sessions.requestHeartbeat({ agentId, sessionKey, reason: "hook:notice" });
  }

  async #send(notice: { text: string; idempotencyKey: string }): Promise<void> {
    const wanted = this.#options.target();
    if (!wanted) return;
    const { agents, channels } = this.#options.host;
    const target = await resolveTarget(channels, { ...wanted, agentId: agents.resolve(undefined).id });
    if (isRefusal(target)) throw new Error(target.message);
    if (!("channel" in target)) throw new Error(target.unresolved);
    await this.#retrying(() => channels.send({ ...target, ...notice }));
  }

  #retrying(step: () => Promise<void>): Promise<void> {
    return retrying(() => withTimeout(step(), this.#abandon), this.#options.retry ?? BRIEF_RETRY, this.#abandon);
  }
}
