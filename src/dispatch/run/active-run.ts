import type { StoredRun } from "../../storage/delivery-store.ts";
import type { ActiveRun, DispatchContext } from "../context.ts";
import { chainOf, checkRun } from "../outgoing.ts";
import { coalescedText } from "./coalesced-text.ts";
import { extractedBefore } from "./extraction.ts";

/** A run as the parts that carry it out work on it, by the active configuration. */
export function activeRun(
  { outgoingFor, key }: Pick<DispatchContext, "outgoingFor" | "key">,
  stored: StoredRun,
  { spec, ...of }: Pick<ActiveRun, "spec" | "mappingId" | "ending">,
): ActiveRun {
  const { runId, deliveryId, coalesced } = stored;
  const chain = chainOf(key, deliveryId, spec);
  const extraction: ActiveRun["extraction"] = {};
  const formOf = (): string => extraction.content ?? extractedBefore(stored.attempts)?.content ?? "";
  const text = spec.extract === undefined ? () => coalescedText(spec, coalesced).text : formOf;
  const checkOutgoing = checkRun(outgoingFor(of.mappingId), { key, runId, spec, text, chain });
  return { stored, spec, chain, extraction, checkOutgoing, ...of };
}
