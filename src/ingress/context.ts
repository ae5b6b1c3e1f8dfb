import { type Refusal, refuse } from "../core/errors.ts";
import type { GatewayHost } from "../core/host.ts";
import type { Measurements } from "../core/measurements.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { RunWatch } from "../dispatch/run-watch.ts";
import { type DeliveryStore, StoreError } from "../storage/delivery-store.ts";
import type { ApprovingEvents } from "./approve.ts";
import type { Chains } from "./chains.ts";
import type { Probes } from "./probes.ts";
import type { KnownWait, WaitBook } from "./waits/wait-book.ts";
import type { ByteBudget, HeldAnswers, InFlight, UnverifiedPlaces } from "./request-limits.ts";

/** The parts that the stages share and a reload does not replace. */
export interface IngressContext {
  readonly host: GatewayHost;
  readonly store: DeliveryStore;
  readonly dispatcher: Dispatcher;
  /** Callers who wait for the result of their call. */
  readonly watch: RunWatch;
  readonly inFlight: InFlight;
  readonly unverifiedPlaces: UnverifiedPlaces;
  readonly unverifiedBytes: ByteBudget;
  readonly heldAnswers: HeldAnswers;
  readonly measurements: Measurements;
  readonly probes: Probes;
  /** Absent where no session waits for an event. */
  readonly waits?: WaitBook;
  /** Ends a wait whose time has come, before the clock looks at it. Never rejects. */
  readonly endDue?: (known: KnownWait) => Promise<void>;
  /** Absent where no event approves what is held. */
  readonly approvals?: ApprovingEvents;
  /** Absent where no run of the gateway can have caused an event. */
  readonly chains?: Chains;
}

/** Notifies observers, if there are any; an error they throw is logged and never fatal. */
export function observe<Event>(
  { logger }: Pick<GatewayHost, "logger">,
  hook: { isUsed(): boolean; promise(event: Event): Promise<void> },
  event: Event,
): Promise<void> | undefined {
  if (!hook.isUsed()) return undefined;
  return hook.promise(event).catch((error: unknown) => {
    logger.error({ err: error }, "an observer of the ingress failed");
  });
}

/** The refusal when the store fails; any other error is a defect and is thrown. */
export function storeRefusal(error: unknown, { host }: Pick<IngressContext, "host">, message: string): Refusal {
  if (!(error instanceof StoreError)) throw error;
  if (error.code === "CLOSED") return refuse("SHUTTING_DOWN");
  host.logger.error({ err: error }, message);
  return refuse("STORE_UNAVAILABLE");
}
