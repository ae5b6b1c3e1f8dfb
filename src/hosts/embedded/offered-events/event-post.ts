/** Posts to the callbacks of subscribers: signed by Standard Webhooks, to public addresses alone. */
import { randomUUID, timingSafeEqual } from "node:crypto";
import { type FetchedAnswer, FetchError, type GuardedFetch, isSuccess } from "../../../http/guarded-fetch.ts";
import { signMessage } from "../../../http/sign-message.ts";
import type { Subscriber } from "./subscribers.ts";

export type Callback = Pick<Subscriber, "id" | "url" | "secrets">;

/** The specification's words for what went wrong at a callback. */
export type CallbackProblem =
  | "connection_refused"
  | "timeout"
  | "tls_error"
  | "http_4xx"
  | "http_5xx"
  | "challenge_failed";

/** With a signature by each secret that still counts. Rejects with a {@link FetchError}. */
export function post(
  fetch: GuardedFetch,
  callback: Callback,
  {
    id,
    body,
    now,
    signal,
  }: { readonly id: string; readonly body: string; readonly now: number; readonly signal?: AbortSignal },
): Promise<FetchedAnswer> {
  const valid = callback.secrets.filter(({ until }) => until === null || now < until);
  const signed = valid.map(({ value }) => signMessage(body, { id, atMs: now, secret: value }));
  const headers = {
    "content-type": "application/json",
    "x-mcp-subscription-id": callback.id,
    ...signed[0]!,
    "webhook-signature": signed.map((each) => each["webhook-signature"]).join(" "),
  };
  return fetch(callback.url, { post: { headers, body, readsAnswer: true }, ...(signal && { signal }) });
}

/** The id of a message that is no event. */
export function controlId(type: string): string {
  return `msg_${type}_${randomUUID()}`;
}

/** Asks whether whoever is at the URL wants the events: an attacker could name a stranger's. `undefined`: yes. */
export async function verifyCallback(
  fetch: GuardedFetch,
  callback: Callback,
  now: number,
): Promise<CallbackProblem | "not_public" | undefined> {
  const challenge = randomUUID();
  const body = JSON.stringify({ type: "verification", challenge });
  try {
    const answer = await post(fetch, callback, { id: controlId("verification"), body, now });
    if (!isSuccess(answer.status)) return answer.status < 500 ? "http_4xx" : "http_5xx";
    return isEcho(answer.body, challenge) ? undefined : "challenge_failed";
  } catch (error) {
    return problemOf(error);
  }
}

function isEcho(body: Uint8Array, challenge: string): boolean {
  let echoed: unknown;
  try {
    echoed = (JSON.parse(new TextDecoder().decode(body)) as { readonly challenge?: unknown } | null)?.challenge;
  } catch {
    return false;
  }
  if (typeof echoed !== "string" || echoed.length !== challenge.length) return false;
  const bytes = Buffer.from(echoed);
  return bytes.length === challenge.length && timingSafeEqual(bytes, Buffer.from(challenge));
}

/** In one of the specification's words, never in those of whoever answered. */
export function problemOf(error: unknown): CallbackProblem | "not_public" {
  const message = error instanceof FetchError ? error.message : "";
  if (/not public|redirect|https|port|credentials/u.test(message)) return "not_public";
  if (message.includes("longer than")) return "timeout";
  return /CERT|TLS|SSL|SIGNATURE/u.test(message) ? "tls_error" : "connection_refused";
}
