import { expect, it } from "vitest";
import { HookOperations } from "../../../../src/ingress/operations/hooks.ts";
import { RECEIVED_AT, StageBench } from "../stages/stage-bench.ts";

const NOW_MINUTE = Math.floor(RECEIVED_AT / 60_000);

it("the used share of a budget counts the oldest minute of the hour and of the day, as the budget itself does", async () => {
  await using bench = await StageBench.open();
  const mapping = { id: "in", match: { path: "in" }, messageTemplate: "x", budget: { perHour: 9, perDay: 9 } };
  const active = await bench.active({ mappings: [mapping] });
  await bench.ingress.store.addUsage(
    [0, 60, 61, 1_440, 1_441].map((ago) => ({
      scope: "in",
      minute: NOW_MINUTE - ago,
      runs: 1,
      tokens: 0,
      microUsd: 0,
    })),
  );
  const { mappings } = await new HookOperations({
    ingress: bench.ingress,
    active: () => active,
    activityOf: () => undefined,
  }).list();
  expect(mappings[0]?.budget).toEqual({ perHour: { used: 2, limit: 9 }, perDay: { used: 4, limit: 9 } });
});
