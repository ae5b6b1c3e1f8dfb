import { expect, it } from "vitest";
import { callPipeline } from "../stages/pipeline-calls.ts";
import { StageBench } from "../stages/stage-bench.ts";
import { waitingBench } from "./waiting-bench.ts";

const SELF = {
  id: "self",
  match: { path: "self" },
  messageTemplate: "{{text}}",
  deliver: false,
  sessionKey: "hook:self",
  sessionMode: "persistent",
  respond: { wait: { hook: "self", withinSeconds: 3_600 } },
};

it("each event of a session that may have one wait ends that and makes the next one", async () => {
  await using bench = await StageBench.open();
  const { ingress, book } = await waitingBench(bench, []);
  const active = await bench.active({ waits: { maxPerSession: 1 }, mappings: [SELF] });
  const ids = new Set<string>();
  for (const text of ["first", "second", "third"]) {
    await callPipeline({ ingress }, active, { path: "self", body: JSON.stringify({ text }) });
    const waits = [...book.all()].map(({ wait }) => wait.id);
    expect(waits).toHaveLength(1);
    ids.add(waits[0]!);
  }
  expect(ids.size).toBe(3);
  expect((await bench.ingress.store.waits(0)).waits).toHaveLength(1);
});
