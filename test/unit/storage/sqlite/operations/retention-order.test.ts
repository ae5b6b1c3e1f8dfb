import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PURGE_GRACE_MS } from "../../../../../src/storage/sqlite/operations/claims.ts";
import { DONE, FAILED, HELD, QUEUED, RUNNING } from "../../../../../src/storage/sqlite/codes.ts";
import { openRetentionTables } from "./retention-tables.ts";

const rangeOf = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe("retention, whatever happens in which order", () => {
  const states = [DONE, FAILED, HELD, QUEUED, RUNNING];
  const row = fc.record({
    receivedAt: fc.integer({ min: 0, max: 1000 }),
    runs: fc.array(fc.constantFrom(...states), { minLength: 1, maxLength: 3 }),
    markUntil: fc.option(fc.integer({ min: -PURGE_GRACE_MS, max: 3000 }), { nil: undefined }),
    copies: fc.integer({ min: 1, max: 150 }),
  });
  const step = fc.oneof(
    fc.record({ kind: fc.constant("insert" as const), row }),
    fc.record({ kind: fc.constant("settle" as const), nth: fc.nat(500) }),
    fc.record({ kind: fc.constant("restart" as const) }),
    fc.record({
      kind: fc.constant("prune" as const),
      removeBefore: fc.integer({ min: 0, max: 1100 }),
      emptyBefore: fc.integer({ min: 0, max: 1100 }),
      maxBytes: fc.constantFrom(null, 1e12),
      most: fc.constantFrom(64, 320),
      steps: fc.constantFrom(1, 2, 5, 100_000),
      end: fc.constantFrom("COMMIT" as const, "COMMIT" as const, "ROLLBACK" as const),
    }),
  );

  it(
    "no open delivery is touched, and what is old is gone when there is no more to do",
    { timeout: 60_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
          const tables = await openRetentionTables();
          const model = new Map<number, { receivedAt: number; open: boolean; markUntil: number | undefined }>();
          const now = 2000;
          const check = (limits: { removeBefore: number; emptyBefore: number } | undefined) => {
            const [listed, filled] = [new Set(tables.listed()), new Set(tables.filled())];
            const newest = Math.max(...model.keys());
            for (const [seq, { receivedAt, open, markUntil }] of model) {
              if (open) expect([seq, listed.has(seq), filled.has(seq)]).toEqual([seq, true, true]);
              if (open || limits === undefined) continue;
              const isDue = receivedAt < limits.removeBefore;
              const isKept = seq === newest || (markUntil ?? -Infinity) > now - PURGE_GRACE_MS;
              if (isDue && !isKept) expect([seq, listed.has(seq)]).toEqual([seq, false]);
              if (isDue || receivedAt < limits.emptyBefore) expect([seq, filled.has(seq)]).toEqual([seq, false]);
            }
          };
          for (const one of steps) {
            if (one.kind === "restart") tables.restart();
            else if (one.kind === "insert") {
              const { copies, ...fields } = one.row;
              const rows = rangeOf(copies).map((copy) => ({
                ...fields,
                receivedAt: (fields.receivedAt + copy * 7) % 1000,
              }));
              const last = tables.insert(...rows);
              const open = fields.runs.some((state) => state >= HELD);
              for (const [index, { receivedAt, markUntil }] of rows.entries()) {
                model.set(last - copies + 1 + index, { receivedAt, open, markUntil });
              }
            } else if (one.kind === "settle") {
              const seq = one.nth + 1;
              if (model.has(seq)) model.set(seq, { ...model.get(seq)!, open: false });
              tables.settle(seq, DONE);
            } else {
              const limits = {
                now,
                removeBefore: one.removeBefore,
                emptyBefore: one.emptyBefore,
                maxBytes: one.maxBytes,
                most: one.most,
              };
              let [more, left] = [1, one.steps];
              while (more === 1 && left-- > 0) {
                const [removed, emptied, again] = tables.prune(limits, one.end);
                expect(removed + emptied).toBeLessThanOrEqual(one.most);
                more = again;
                if (one.end === "ROLLBACK" && removed + emptied > 0) break;
              }
              // A round that others have begun with other limits may end before these are met everywhere.
              if (one.steps === 100_000 && one.end === "COMMIT") {
                tables.pruneAll(limits);
                check(limits);
              } else check(undefined);
              if (one.steps === 100_000 && one.end === "COMMIT" && one.maxBytes !== null) {
                expect(tables.counted()).toBe(tables.addedUp());
              }
            }
            expect(tables.counted()).toBe(tables.addedUp("counted"));
          }
          check(undefined);
        }),
        { numRuns: 40 },
      );
    },
  );
});
