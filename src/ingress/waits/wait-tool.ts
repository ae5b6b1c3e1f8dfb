/** `wait_for_event`: the tool by which an agent lets its own session wait. */
import { configLines } from "../../config/errors.ts";
import { compileSchemaCheck } from "../../config/schema-check.ts";
import { WaitRefused, type WaitWish, WaitWishSchema } from "../../config/wait-wish.ts";
import { leastRights } from "../../core/agent-rights.ts";
import type { AgentTool, ToolUser } from "../../core/agent-tool.ts";
import type { DeliveryStore } from "../../storage/delivery-store.ts";
import type { WaitOperations } from "../operations/waits.ts";
import type { Waiter } from "./wait-terms.ts";

const DESCRIPTION =
  "Lets this session wait for an event: it is resumed with the event when that comes, or with the fact that it did not come within the time. Ends nothing now: finish your turn after it. Name the event by hook (the id of a mapping) or sender, and by correlation where many look alike.";

export interface WaitToolOptions {
  readonly waits: Pick<WaitOperations, "make">;
  readonly store: Pick<DeliveryStore, "loadRun">;
}

export function waitTool({ waits, store }: WaitToolOptions): AgentTool {
  const check = compileSchemaCheck(WaitWishSchema);
  return {
    name: "wait_for_event",
    description: DESCRIPTION,
    input: WaitWishSchema,
    async call(user, input) {
      const issues = check(input);
      if (issues.length > 0) return { problem: configLines(issues).join("; ") };
      try {
        const { id, until, explanation } = await waits.make(input as WaitWish, await waiterOf(user, store));
        return { result: { id, until, explanation } };
      } catch (error) {
        if (error instanceof WaitRefused) return { problem: error.message };
        throw error;
      }
    },
  };
}

/** The resumed run has no more than the run that waits, and replies where that does. */
async function waiterOf(
  { agentId, sessionKey, runId, rights }: ToolUser,
  store: WaitToolOptions["store"],
): Promise<Waiter> {
  if (runId === undefined) return { agentId, sessionKey, rights, level: "owner", madeBy: null };
  const madeBy = runId.replace(ATTEMPT, "");
  const { spec } = await store.loadRun(madeBy);
  if (spec.kind !== "agent") return { agentId, sessionKey, rights, level: "unknown", madeBy };
  const { delivery, fallback, level = "unknown" } = spec;
  return { agentId, sessionKey, rights: leastRights(rights, spec), level, madeBy, delivery, fallback };
}

/** At the end of the id of a run, as the host is given it. */
const ATTEMPT = /-a\d+$/u;
