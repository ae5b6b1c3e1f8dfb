import { describe, expect, it } from "vitest";
import { STATES } from "../../../../src/core/run.ts";
import type { DeliverySummary } from "../../../../src/core/delivery.ts";
import type { State } from "../../../../src/core/run.ts";
import type { Operation } from "../../../../src/ingress/operations/outcome.ts";
import { planOperation } from "../../../../src/ingress/operations/plan.ts";

function delivery(state: State, changes: Partial<DeliverySummary> = {}): DeliverySummary {
  return {
    id: "dlv_1",
    state,
    reason: null,
    route: "agent",
    mappingId: null,
    name: "Hook",
    receivedAt: "2026-02-27T10:00:00.000Z",
    runIds: ["run_1"],
    event: null,
    actor: null,
    level: null,
    relatedTo: null,
    ...changes,
  };
}

/** The states in which an operation can be carried out. */
function statesFor(operation: Operation, asAccepted = false, changes: Partial<DeliverySummary> = {}): State[] {
  return STATES.filter((state) => planOperation(operation, delivery(state, changes), { asAccepted }) === undefined);
}

describe("an operation", () => {
  it("cancels what is queued, running or held", () => {
    expect(statesFor("cancel")).toEqual(["queued", "running", "held"]);
  });

  it("purges what has ended", () => {
    expect(statesFor("purge")).toEqual(["filtered", "skipped", "duplicate", "coalesced", "done", "failed", "canceled"]);
  });

  it("replays everything but what would run twice and what has no request of its own", () => {
    expect(statesFor("replay")).toEqual(["filtered", "skipped", "coalesced", "held", "done", "failed", "canceled"]);
  });

  it("replays as accepted what was accepted with a run", () => {
    expect(statesFor("replay", true)).toEqual([
      "filtered",
      "skipped",
      "coalesced",
      "held",
      "done",
      "failed",
      "canceled",
    ]);
    expect(statesFor("replay", true, { runIds: [] })).toEqual(["coalesced"]);
  });

  it("says why not", () => {
    const why = (operation: Operation, about: DeliverySummary) =>
      planOperation(operation, about, { asAccepted: false }) ?? "";
    expect(why("cancel", delivery("done"))).toBe("it is done; nothing of it is left to cancel");
    expect(statesFor("resolve")).toEqual(["failed"]);
    const resolved = { at: "2026-01-01T00:00:00.000Z", note: null };
    expect(why("resolve", delivery("failed", { resolved }))).toBe("it was resolved at 2026-01-01T00:00:00.000Z");
    expect(why("purge", delivery("held"))).toContain("it is held; cancel it first");
    expect(why("replay", delivery("queued"))).toContain("would run twice");
    const relatedTo = { how: "duplicate", deliveryId: "dlv_first" } as const;
    expect(why("replay", delivery("duplicate", { relatedTo }))).toContain("it repeats dlv_first");
    expect(why("replay", delivery("duplicate"))).toContain("it repeats another delivery");
  });
});
