import { refuse } from "../core/errors.ts";
import type { Refusal } from "../core/errors.ts";
import { StoreError } from "../storage/delivery-store.ts";
import type { IngressContext } from "./context.ts";

/** What the caller is told when the store takes or gives nothing; anything else is a defect and is thrown. */
export function storeRefusal(error: unknown, { host }: Pick<IngressContext, "host">, message: string): Refusal {
  if (!(error instanceof StoreError)) throw error;
  if (error.code === "CLOSED") return refuse("SHUTTING_DOWN");
  host.logger.error({ err: error }, message);
  return refuse("STORE_UNAVAILABLE");
}
