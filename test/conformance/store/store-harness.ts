import type { DeliveryStore } from "../../../src/storage/delivery-store.ts";

/** What an implementation brings to be held to the contract. */
export interface StoreHarness {
  /** A store on empty storage of its own. */
  create(): Promise<StoreUnderTest>;
}

export interface StoreUnderTest {
  readonly store: DeliveryStore;
  /** Closes the store and opens another on the same storage, as a new process would. */
  reopen(): Promise<DeliveryStore>;
  /** Closes what is open and removes the storage. */
  dispose(): Promise<void>;
}
