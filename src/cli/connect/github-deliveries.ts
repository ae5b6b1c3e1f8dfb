/**
 * Deliveries of a webhook of GitHub: GitHub is asked to deliver again what it could not, so that it signs it and calls
 * the public URL itself.
 *
 * Source: https://docs.github.com/en/rest/repos/webhooks, "Redeliver a delivery for a repository webhook".
 */
import { setTimeout as sleep } from "node:timers/promises";
import { listAt, textAt, valueAt } from "../../core/payload-text.ts";
import { githubHooksPath } from "./github-webhooks.ts";
import { MAX_LIST_PAGES, type MissedCall, type MissedCalls, type Redelivery, type TakeOutcome } from "./redelivery.ts";
import { PAGE_SIZE, type HookPlace } from "./registrar.ts";
import type { SenderApi } from "../../hosts/embedded/subscriptions/sender-api.ts";

/** One try of GitHub at one call. */
interface Attempt {
  readonly id: string;
  /** Of the call, in X-GitHub-Delivery. */
  readonly guid: string;
  readonly event: string;
  readonly at: string;
  /** True when someone asked for it. */
  readonly isRepeat: boolean;
  /** HTTP; 0: no answer. */
  readonly status: number;
  readonly why: string;
}

const LOOK_EVERY_MS = 1_000;
/** GitHub delivers within seconds of being asked. */
const DELIVERED_WITHIN_MS = 60_000;
/** A gateway that is behind may have another time. */
const CLOCK_TOLERANCE_MS = 300_000;

export class GithubDeliveries implements Redelivery {
  readonly title = "GitHub";
  readonly #api: SenderApi;
  readonly #place: HookPlace;
  readonly #path: string;
  /** The latest attempt at each call that was missed. */
  readonly #latest = new Map<string, Attempt>();

  constructor(api: SenderApi, place: HookPlace, hookId: string) {
    this.#api = api;
    this.#place = place;
    this.#path = `${githubHooksPath(place)}/${hookId}/deliveries`;
  }

  async missed(sinceMs: number): Promise<MissedCalls> {
    const { attempts, isCut } = await this.#attempts(sinceMs);
    const calls: MissedCall[] = [];
    for (const [guid, tries] of Map.groupBy(attempts, (each) => each.guid)) {
      const [latest] = tries;
      if (latest === undefined || latest.event === "ping" || tries.some(({ status }) => isSuccess(status))) continue;
      // It was first tried before, perhaps with success.
      if (tries.every(({ isRepeat }) => isRepeat)) continue;
      this.#latest.set(guid, latest);
      calls.push({ id: guid, event: latest.event, at: tries.at(-1)!.at, why: latest.why });
    }
    return { calls: calls.toReversed(), isCut };
  }

  idOf({ headers }: { readonly headers: Readonly<Record<string, string>> }): Promise<string | undefined> {
    return Promise.resolve(headers["x-github-delivery"]);
  }

  async take(calls: readonly MissedCall[], onOutcome: (call: MissedCall, outcome: TakeOutcome) => void): Promise<void> {
    const asked: MissedCall[] = [];
    try {
      for (const call of calls) {
        const { id } = this.#latest.get(call.id)!;
        const act = `deliver ${call.id} again`;
        await this.#api.call({ method: "POST", path: `${this.#path}/${id}/attempts`, act });
        asked.push(call);
      }
    } finally {
      await this.#waitFor(asked, onOutcome);
    }
  }

  /** Waits until GitHub has tried each call again. */
  async #waitFor(
    asked: readonly MissedCall[],
    onOutcome: (call: MissedCall, outcome: TakeOutcome) => void,
  ): Promise<void> {
    const waiting = new Map(asked.map((call) => [call.id, call]));
    const oldest = Math.min(...asked.map(({ id }) => Date.parse(this.#latest.get(id)!.at)));
    const deadline = Date.now() + DELIVERED_WITHIN_MS;
    while (waiting.size > 0 && Date.now() < deadline) {
      const { attempts } = await this.#attempts(
        Math.max(oldest, Date.now() - DELIVERED_WITHIN_MS - CLOCK_TOLERANCE_MS),
      );
      for (const [id, call] of waiting) {
        const attempt = attempts.find(({ guid }) => guid === id);
        if (attempt === undefined || attempt.id === this.#latest.get(id)!.id) continue;
        waiting.delete(id);
        onOutcome(call, isSuccess(attempt.status) ? "taken" : `refused: ${attempt.why}`);
      }
      if (waiting.size > 0) await sleep(LOOK_EVERY_MS);
    }
    for (const call of waiting.values()) onOutcome(call, "pending");
  }

  /** The newest first. */
  async #attempts(sinceMs: number): Promise<{ readonly attempts: readonly Attempt[]; readonly isCut: boolean }> {
    const attempts: Attempt[] = [];
    let cursor = "";
    for (let page = 0; page < MAX_LIST_PAGES; page++) {
      const path = `${this.#path}?per_page=${PAGE_SIZE}${cursor}`;
      const act = `list the deliveries of ${this.#place.name}`;
      const { body, headers } = await this.#api.call({ method: "GET", path, act });
      const listed = listAt(body, "").map(attemptOf);
      const known = listed.filter((each) => each !== undefined);
      attempts.push(...known.filter(({ at }) => Date.parse(at) >= sinceMs));
      const next = nextCursor(headers);
      const isPast = known.some(({ at }) => Date.parse(at) < sinceMs);
      if (next === undefined || isPast || listed.length === 0) return { attempts, isCut: false };
      cursor = `&cursor=${encodeURIComponent(next)}`;
    }
    return { attempts, isCut: true };
  }
}

function attemptOf(item: unknown): Attempt | undefined {
  const id = textAt(item, "id");
  const guid = textAt(item, "guid");
  const at = textAt(item, "delivered_at");
  if (!/^\d{1,20}$/u.test(id) || !/^[\w-]{1,100}$/u.test(guid) || Number.isNaN(Date.parse(at))) return undefined;
  const status = Number(valueAt(item, "status_code"));
  const action = textAt(item, "action");
  const why = status >= 100 ? `${status} ${textAt(item, "status")}`.trim() : textAt(item, "status") || "no answer";
  const event = `${textAt(item, "event")}${action === "" ? "" : `.${action}`}`;
  return { id, guid, event, at, isRepeat: valueAt(item, "redelivery") === true, status, why };
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Only the cursor of the next page is taken, never its address. */
function nextCursor(headers: globalThis.Headers): string | undefined {
  const next = /<([^>]{1,2000})>;\s*rel="next"/u.exec(headers.get("link") ?? "")?.[1];
  return next === undefined ? undefined : (URL.parse(next)?.searchParams.get("cursor") ?? undefined);
}
