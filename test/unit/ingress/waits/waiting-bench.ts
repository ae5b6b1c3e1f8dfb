import type { Wait } from "../../../../src/core/wait.ts";
import type { IngressContext } from "../../../../src/ingress/context.ts";
import { WaitBook } from "../../../../src/ingress/waits/wait-book.ts";
import { storedWait } from "../../../../src/ingress/waits/wait-terms.ts";
import type { StageBench } from "../stages/stage-bench.ts";

/** The surroundings of the stages, in which sessions wait: these are in the store. */
export async function waitingBench(
  { ingress }: StageBench,
  waits: readonly Wait[],
): Promise<{ readonly ingress: IngressContext; readonly book: WaitBook }> {
  for (const wait of waits) await ingress.store.addWait(storedWait(wait), { total: 100, ofSession: 100 });
  const book = new WaitBook(ingress.store);
  await book.refresh();
  return { ingress: { ...ingress, waits: book }, book };
}
