/** Modules that hang, or leave loops behind, delay their own calls only. */
import { describe, expect, it } from "vitest";
import { HostileGateway } from "./hostile-gateway.ts";

/** Each hanging call ends at its time limit. */
const SLOW = { timeout: 120_000 };
const HANGS = "export default () => { for (;;); };";
const LEAVES_LOOP =
  "export default () => { setImmediate(() => { for (;;); }); return { message: 'left', deliver: false }; };";
const ORDINARY_CALLS = 10;

/** Answers as many ordinary calls as named while none of the hanging ones has ended. */
async function expectOthersServed(hostile: HostileGateway, paths: readonly string[]): Promise<void> {
  let hasEnded = false;
  const hanging = Promise.allSettled(
    paths.map(async (path) => {
      await hostile.call(path).finally(() => (hasEnded = true));
    }),
  );
  const order: boolean[] = [];
  for (let sent = 0; sent < ORDINARY_CALLS; sent++) {
    await hostile.callOrdinarily("innocent");
    order.push(hasEnded);
  }
  expect(order).toEqual(Array.from({ length: ORDINARY_CALLS }, () => false));
  await hanging;
}

describe("the calls of other transforms", () => {
  it("are answered while two modules hang for the first time", SLOW, async () => {
    const modules = { a: HANGS, b: HANGS };
    await using hostile = await HostileGateway.start({ modules, limits: { timeoutMs: 5_000, workers: 2 } });
    await hostile.callOrdinarily("innocent");
    await expectOthersServed(hostile, ["a", "b"]);
  });

  it("are answered while three modules hang that have hung before", SLOW, async () => {
    const modules = { a: HANGS, b: HANGS, c: HANGS };
    await using hostile = await HostileGateway.start({ modules, limits: { timeoutMs: 5_000, workers: 2 } });
    await hostile.callOrdinarily("innocent");
    for (let round = 0; round < 2; round++) await expectOthersServed(hostile, ["a", "b", "c"]);
  });

  it("are answered while modules that have answered loop on behind their answers", SLOW, async () => {
    const modules = { a: LEAVES_LOOP, b: LEAVES_LOOP, c: LEAVES_LOOP };
    await using hostile = await HostileGateway.start({ modules, limits: { timeoutMs: 5_000, workers: 2 } });
    await hostile.callOrdinarily("innocent");
    for (const path of ["a", "b", "c"]) expect((await hostile.call(path)).status).toBe(202);
    // The second call of each meets the loop of the first.
    await expectOthersServed(hostile, ["a", "b", "c"]);
  });
});
