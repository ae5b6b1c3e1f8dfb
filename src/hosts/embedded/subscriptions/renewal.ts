/** Renews subscriptions before they end, and notifies the owner where that fails. */
import { readFileSync } from "node:fs";
import type { Clock, Logger } from "../../../core/host.ts";
import { reasonLine } from "../../../core/reason-of.ts";
import type { Operations } from "../../../index.ts";
import { SenderApiError } from "../errors.ts";
import { accessToken } from "./access-token.ts";
import { calendarWatch, gmailWatch } from "./google.ts";
import { microsoftGraphKind } from "./microsoft-graph.ts";
import { type SubscriptionRecord, SubscriptionRecords } from "./records.ts";
import { SenderApi } from "./sender-api.ts";
import type { SubscriptionKind } from "./subscription.ts";

export const SUBSCRIPTION_KINDS: readonly SubscriptionKind[] = [microsoftGraphKind, gmailWatch, calendarWatch];

export interface RenewalOptions {
  readonly stateDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly outages: () => Operations["outages"];
}

const LOOK_EVERY_MS = 60_000;
/** The share of its time after which one is renewed: what fails then can be tried for hours. */
const RENEW_AFTER = 2 / 3;
/** A sender that says it ends at once is not asked all the time. */
const LEAST_TIME_MS = 300_000;
const FIRST_RETRY_MS = 60_000;
const LAST_RETRY_MS = 3_600_000;
/** Tries that fail before the owner is notified, unless it ends soon or no try can help. */
const SILENT_TRIES = 3;
const SOON_MS = 3_600_000;
/** Answers that another try does not change. */
const FINAL: ReadonlySet<number> = new Set([400, 401, 403, 404]);

export class SubscriptionRenewal {
  readonly #options: RenewalOptions;
  readonly #records: SubscriptionRecords;
  /** Failed tries, and the time of the next one. */
  readonly #failures = new Map<string, { readonly tries: number; readonly nextAt: number }>();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  readonly #stopped = new AbortController();

  constructor(options: RenewalOptions) {
    this.#options = options;
    this.#records = new SubscriptionRecords(options.stateDir);
  }

  start(): void {
    const look = (): void => {
      this.#round = this.#round.then(() => this.renewDue());
    };
    look();
    this.#timer = setInterval(look, LOOK_EVERY_MS).unref();
  }

  /** Resolves when no renewal is in progress any more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopped.abort();
    await this.#round;
  }

  /** Renews those that are due, one after the other. Never rejects. */
  async renewDue(): Promise<void> {
    const { clock, logger } = this.#options;
    try {
      const records = this.#records.all();
      for (const key of this.#failures.keys()) {
        if (!records.some((record) => keyOf(record) === key)) this.#failures.delete(key);
      }
      for (const record of records) {
        if (this.#stopped.signal.aborted) return;
        if (this.#isDue(record, clock.now())) await this.#renew(record);
      }
    } catch (error) {
      logger.error({ err: error }, "subscriptions could not be renewed");
    }
  }

  #isDue(record: SubscriptionRecord, now: number): boolean {
    const failure = this.#failures.get(keyOf(record));
    if (failure !== undefined) return now >= failure.nextAt;
    return now >= record.begunAt + Math.max(LEAST_TIME_MS, (record.expiresAt - record.begunAt) * RENEW_AFTER);
  }

  async #renew(record: SubscriptionRecord): Promise<void> {
    const { clock, logger, env, outages } = this.#options;
    const { sender, resource } = record;
    try {
      const renewed = await renewSubscription(record, env, { now: clock.now(), signal: this.#stopped.signal });
      // It may have been removed in the meantime.
      if (this.#records.has(record)) this.#records.save(renewed);
    } catch (error) {
      if (!this.#stopped.signal.aborted) await this.#failed(record, error);
      return;
    }
    this.#failures.delete(keyOf(record));
    logger.info({ sender, resource }, "subscription renewed");
    await outages().works(keyOf(record), `The subscription of ${sender} is renewed again.`);
  }

  async #failed(record: SubscriptionRecord, error: unknown): Promise<void> {
    const { clock, logger, outages } = this.#options;
    const { sender, resource, expiresAt } = record;
    const tries = (this.#failures.get(keyOf(record))?.tries ?? 0) + 1;
    const waitMs = Math.min(FIRST_RETRY_MS * 2 ** (tries - 1), LAST_RETRY_MS);
    this.#failures.set(keyOf(record), { tries, nextAt: clock.now() + waitMs });
    const reason = reasonLine(error);
    logger.warn({ sender, resource, tries, reason }, "subscription not renewed");
    const isFinal = error instanceof SenderApiError && (error.status === undefined ? false : FINAL.has(error.status));
    if (!isFinal && tries < SILENT_TRIES && clock.now() < expiresAt - SOON_MS) return;
    const ends = new Date(expiresAt).toISOString().slice(0, 16).replace("T", " ");
    const verb = clock.now() < expiresAt ? "ends" : "has ended";
    const text = `The subscription of ${sender} could not be renewed, and ${verb} at ${ends} UTC: then its calls no longer arrive. It is tried again. To make it once more: reveille add ${sender} --credentials-file FILE`;
    await outages().failed(keyOf(record), text, { detail: reason });
  }
}

function keyOf({ sender, resource }: SubscriptionRecord): string {
  return `subscription:${sender}:${resource}`.slice(0, 200);
}

/** Rejects with a {@link SenderApiError}. */
async function renewSubscription(
  record: SubscriptionRecord,
  env: RenewalOptions["env"],
  { now, signal }: { readonly now: number; readonly signal: AbortSignal },
): Promise<SubscriptionRecord> {
  const { kind, api } = await openSubscription(record, signal);
  const begun = await kind.renew(api, { ...known(record), secret: () => secretOf(record, env) });
  return { ...record, ...begun, begunAt: now };
}

/** Ends one at its sender. Rejects with a {@link SenderApiError}. */
export async function endSubscription(record: SubscriptionRecord): Promise<void> {
  const { kind, api } = await openSubscription(record);
  await kind.end(api, known(record));
}

async function openSubscription(
  record: SubscriptionRecord,
  signal?: AbortSignal,
): Promise<{ readonly kind: SubscriptionKind; readonly api: SenderApi }> {
  const kind = SUBSCRIPTION_KINDS.find(({ preset }) => preset === record.preset);
  if (kind === undefined) throw new SenderApiError(`There are no subscriptions of ${record.preset}.`);
  const token = await accessToken(kind, { ...record, signal });
  return { kind, api: new SenderApi(kind, { base: record.api, token, signal }) };
}

function known({ id, resourceId, expiresAt, url, resource, events }: SubscriptionRecord) {
  return { id, expiresAt, url, resource, events, ...(resourceId === undefined ? {} : { resourceId }) };
}

function secretOf({ secret, sender }: SubscriptionRecord, env: RenewalOptions["env"]): string {
  const value = secret === null ? "" : "file" in secret ? readFileSync(secret.file, "utf8").trim() : env[secret.env];
  if (value === undefined || value === "") throw new SenderApiError(`The secret of ${sender} is not there.`);
  return value;
}
