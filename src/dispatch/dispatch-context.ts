import type { DispatchedEvent, SettledEvent } from "../hooks.ts";
import type { Clock, GatewayHost, Logger } from "../host.ts";
import type { DeliveryStore } from "../store/delivery-store.ts";

/** What the dispatcher and its runners work with. */
export interface DispatchContext {
  readonly store: DeliveryStore;
  readonly host: Pick<GatewayHost, "agents" | "channels" | "sessions">;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly events: RunEvents;
  /** Aborted when the shutdown's deadline has come: what is under way stays on disk. */
  readonly abandon: AbortSignal;
}

/** Observers of runs; they neither throw nor reject. */
export interface RunEvents {
  dispatched(event: DispatchedEvent): Promise<void> | undefined;
  settled(event: SettledEvent): Promise<void> | undefined;
}
