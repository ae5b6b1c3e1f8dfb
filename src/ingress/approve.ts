/** Releases what is held of an object, once an event that approves it is on disk. */
import { QUARANTINE } from "../core/run.ts";
import type { DeliveryDetail, EventObject } from "../core/delivery.ts";
import type { GatewayHost } from "../core/host.ts";
import type { DeliveryStore } from "../storage/delivery-store.ts";

/** An event that approves. */
export interface ApprovingEvent {
  readonly mappingId: string;
  readonly object: EventObject;
  /** Its own delivery. */
  readonly deliveryId: string;
}

export interface ApprovalOptions {
  readonly store: Pick<DeliveryStore, "list" | "get" | "hold">;
  readonly logger: GatewayHost["logger"];
  readonly release: (deliveryId: string, by: string) => Promise<{ readonly kind: string }>;
}

const PAGE = 200;
/** Follows the reason of what stays held. */
const NOT_APPROVED = "; not approved by ";

export class ApprovingEvents {
  readonly #options: ApprovalOptions;

  constructor(options: ApprovalOptions) {
    this.#options = options;
  }

  /**
   * Releases what was held, as it was rendered then. It stays held when the event that approves shows another text, or
   * shows none and several versions are held.
   * Never rejects: the event is on disk, and what stays held can be released by a person.
   */
  async carryOut(approval: ApprovingEvent): Promise<void> {
    const { logger } = this.#options;
    try {
      const held = await this.#heldOf(approval);
      for (const delivery of held) await this.#decide(delivery, approval, held.length);
    } catch (error) {
      logger.error({ err: error, deliveryId: approval.deliveryId }, "what an event approves could not be released");
    }
  }

  async #decide({ id, runs }: DeliveryDetail, { object, deliveryId }: ApprovingEvent, versions: number): Promise<void> {
    const { logger, release, store } = this.#options;
    const facts = { deliveryId: id, approvedBy: deliveryId };
    // Where the approving event shows no text, it could be meant for another version than this one.
    const isSeen =
      object.text === undefined ? versions === 1 : runs.every(({ spec }) => spec.object?.text === object.text);
    if (!isSeen) {
      const why =
        object.text === undefined ? "another version of it is held as well" : "the text that it shows is another";
      for (const run of runs) {
        const [reason] = (run.reason ?? QUARANTINE).split(NOT_APPROVED);
        await store.hold(run.id, `${reason}${NOT_APPROVED}${deliveryId}: ${why}`);
      }
      logger.warn({ ...facts, versions }, "what is held is not the text that was approved; it stays held");
      return;
    }
    const outcome = await release(id, `approved by ${deliveryId}`);
    const level = outcome.kind === "replayed" ? "info" : "warn";
    logger[level]({ ...facts, outcome: outcome.kind }, "an event approved what was held");
  }

  /** The oldest first, as they came. */
  async #heldOf({ mappingId, object }: ApprovingEvent): Promise<readonly DeliveryDetail[]> {
    const { store } = this.#options;
    const found: DeliveryDetail[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.list({ state: "held", limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
      for (const { id, mappingId: of, reason } of page.deliveries) {
        if (of !== mappingId || reason?.startsWith(QUARANTINE) !== true) continue;
        const delivery = await store.get(id);
        if (delivery?.runs.every(({ spec }) => spec.object?.id === object.id) === true) found.push(delivery);
      }
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    return found.toReversed();
  }
}
