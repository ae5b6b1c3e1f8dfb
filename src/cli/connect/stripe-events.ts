/**
 * Events of Stripe that it could not deliver: they are read by its API, signed with the secret of the endpoint as
 * Stripe signs them, and posted to the hook of the running gateway, which verifies them as any other call.
 *
 * Source: https://docs.stripe.com/api/events/list, `delivery_success`.
 */
import type { MappingConfig } from "../../config/mapping/schema.ts";
import { signRequest } from "../../auth/signatures/sign-request.ts";
import { listAt, textAt, valueAt } from "../../core/payload-text.ts";
import { reasonOf } from "../../core/reason-of.ts";
import { CliError } from "../errors.ts";
import {
  MAX_LIST_PAGES,
  type MissedCall,
  type MissedCalls,
  type Redelivery,
  type StoredCall,
  type TakeOutcome,
} from "./redelivery.ts";
import { secretOf } from "./register.ts";
import { PAGE_SIZE } from "./registrar.ts";
import type { SenderApi } from "../../hosts/embedded/subscriptions/sender-api.ts";
import type { StripeEndpoint } from "./stripe-webhooks.ts";

export interface StripeHook {
  readonly mapping: MappingConfig;
  /** Where the running gateway takes its calls. */
  readonly url: string;
  readonly endpoint: StripeEndpoint;
}

const POST_TIMEOUT_MS = 60_000;
/** Events whose bodies are held at a time. */
const MAX_EVENTS = MAX_LIST_PAGES * PAGE_SIZE;

export class StripeEvents implements Redelivery {
  readonly title = "Stripe";
  readonly #api: SenderApi;
  readonly #hook: StripeHook;
  readonly #bodies = new Map<string, string>();

  constructor(api: SenderApi, hook: StripeHook) {
    this.#api = api;
    this.#hook = hook;
  }

  async missed(sinceMs: number): Promise<MissedCalls> {
    const { events: enabled } = this.#hook.endpoint;
    const calls: MissedCall[] = [];
    let after: string | undefined;
    for (let page = 0; page < MAX_LIST_PAGES; page++) {
      const query = new URLSearchParams({
        delivery_success: "false",
        "created[gte]": String(Math.floor(sinceMs / 1_000)),
        limit: String(PAGE_SIZE),
        ...(after === undefined ? {} : { starting_after: after }),
      });
      const act = "list the events that it could not deliver";
      const { body } = await this.#api.call({ method: "GET", path: `/v1/events?${query.toString()}`, act });
      const events = listAt(body, "data");
      for (const event of events) {
        const id = textAt(event, "id");
        const type = textAt(event, "type");
        const isEnabled = enabled.includes("*") || enabled.includes(type);
        if (!/^evt_\w{1,100}$/u.test(id) || !isEnabled || this.#bodies.size >= MAX_EVENTS) continue;
        this.#bodies.set(id, JSON.stringify(event, undefined, 2));
        const at = new Date(Number(valueAt(event, "created")) * 1_000);
        calls.push({ id, event: type, at: Number.isNaN(at.getTime()) ? "" : at.toISOString(), why: "not delivered" });
      }
      after = textAt(events.at(-1), "id");
      if (valueAt(body, "has_more") !== true || after === "") return { calls: calls.toReversed(), isCut: false };
    }
    return { calls: calls.toReversed(), isCut: true };
  }

  async idOf(stored: StoredCall): Promise<string | undefined> {
    return textAt(await stored.payload(), "id") || undefined;
  }

  async take(calls: readonly MissedCall[], onOutcome: (call: MissedCall, outcome: TakeOutcome) => void): Promise<void> {
    for (const call of calls) {
      const status = await this.#post(this.#bodies.get(call.id)!);
      if (status === 401) {
        throw new CliError(
          "The running gateway did not accept the signature: it may use an older configuration or secret. Its log names the cause.",
        );
      }
      if (status === 429 || status >= 500) {
        throw new CliError(`The running gateway answered ${status}: its log says why. Give the command again later.`);
      }
      onOutcome(call, status >= 200 && status < 300 ? "taken" : `refused: ${status}`);
    }
  }

  async #post(body: string): Promise<number> {
    const { mapping, url } = this.#hook;
    if (mapping.auth === undefined) throw new CliError(`${mapping.where} verifies no signature: it needs a secret.`);
    const { headers, body: bytes } = signRequest(mapping.auth, {
      method: "POST",
      url,
      headers: { "content-type": "application/json; charset=utf-8" },
      body: Buffer.from(body),
      now: Date.now(),
      key: secretOf(mapping),
    });
    try {
      const signal = AbortSignal.timeout(POST_TIMEOUT_MS);
      const request = { method: "POST", headers, body: new Uint8Array(bytes), redirect: "manual", signal } as const;
      const response = await fetch(url, request);
      await response.body?.cancel();
      return response.status;
    } catch (error) {
      throw new CliError(
        `The gateway does not answer under ${new URL(url).origin}: ${reasonOf(error)}. Is it running?`,
      );
    }
  }
}
