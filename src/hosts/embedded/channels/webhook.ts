/** The channel that posts each message to one configured address. */
import { CHAIN_HEADER } from "../../../core/chain.ts";
import { type ChannelMessage, type Clock, HostError } from "../../../core/host.ts";
import { messageId, signMessage } from "../../../http/sign-message.ts";
import type { WebhookChannelConfig } from "../config/channels.ts";
import { isRetryableStatus, requestFailure, timedSignal } from "./message-part.ts";

/**
 * Posts `{ channel, to, text, id, time }` as JSON, signed by Standard Webhooks, and resolves when
 * the receiver answered 2xx. Tries with the same idempotency key carry the same `webhook-id`.
 * Redirects are not followed and the answer's body is not read. Rejects with a `HostError`:
 * retryable when no one answered in time or the answer was 408, 425, 429 or 5xx.
 */
export async function postMessage(
  message: ChannelMessage,
  options: { config: WebhookChannelConfig; clock: Clock; signal?: AbortSignal | undefined },
): Promise<void> {
  const { config, clock, signal } = options;
  const atMs = clock.now();
  const id = messageId(message.idempotencyKey);
  const { channel, to, text } = message;
  const body = JSON.stringify({ channel, to, text, id, time: new Date(atMs).toISOString() });
  const headers: Record<string, string> = { ...signMessage(body, { id, atMs, secret: config.secret }) };
  if (message.traceparent !== undefined) headers["traceparent"] = message.traceparent;
  if (message.mark !== undefined) headers[CHAIN_HEADER] = message.mark;
  const status = await post(config, body, { headers, signal });
  if (status < 200 || status > 299) {
    const hint = status >= 300 && status < 400 ? "; redirects are not followed, correct channels.webhook.url" : "";
    throw new HostError(`The webhook channel's receiver answered ${status}${hint}.`, {
      retryable: isRetryableStatus(status),
    });
  }
}

async function post(
  config: WebhookChannelConfig,
  body: string,
  options: { headers: Record<string, string>; signal: AbortSignal | undefined },
): Promise<number> {
  const timed = timedSignal(config.timeoutMs, options.signal);
  try {
    const response = await fetch(config.url, {
      method: "POST",
      headers: { ...options.headers, "content-type": "application/json", "user-agent": "reveille" },
      body,
      redirect: "manual",
      signal: timed.signal,
    });
    await response.body?.cancel();
    return response.status;
  } catch (error) {
    const { timeoutMs } = config;
    throw requestFailure("The webhook channel's receiver", { error, isOverdue: timed.isOverdue(), timeoutMs });
  }
}
