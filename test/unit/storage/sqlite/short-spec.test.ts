import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentSpec } from "../../../../src/core/run.ts";
import { shortSpec, WHOLE_SPEC } from "../../../../src/storage/sqlite/short-spec.ts";
import { restoreSpec } from "../../../../src/storage/sqlite/stored-spec.ts";
import { storeMigrations } from "../../../../src/storage/sqlite/migrations.ts";
import { agentSpec, wakeSpec } from "../../../conformance/store/new-delivery.ts";

const LANE = "agent:main:hook:1";
const usual = agentSpec({ timeoutMs: 600_000 });

const database = new DatabaseSync(":memory:");
for (const statement of Object.values(storeMigrations).flat()) database.exec(statement);
const insertRun = database.prepare("INSERT INTO runs (id, tag, lane, kind, state, steps) VALUES (1, '', ?, 1, 4, 0)");
const insertContents = database.prepare("INSERT INTO contents (id, spec, text) VALUES (1, ?, ?)");
const read = database.prepare("SELECT spec, text FROM whole_contents WHERE id = 1");

function restored(spec: Parameters<typeof shortSpec>[0], lane: string): unknown {
  const { json, text } = shortSpec(spec, lane);
  database.exec("DELETE FROM runs; DELETE FROM contents");
  insertRun.run(lane);
  insertContents.run(json, text);
  const row = read.get();
  return restoreSpec({ json: String(row?.["spec"]), text: (row?.["text"] ?? null) as string | null });
}

describe("a short spec", () => {
  it("has only what is its own", () => {
    const { json, text } = shortSpec({ ...usual, nameBy: "owner", model: "claude" }, LANE);
    expect(JSON.parse(json)).toEqual({ name: "Hook", nameBy: "owner", model: "claude" });
    expect(text).toBe("Look at this.");
  });

  it("is restored exactly, whatever is usual in it and whatever is not", () => {
    const texts = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom('"', "\\", "\0", "😀", "\ud800", ""));
    const changes: fc.Arbitrary<Partial<AgentSpec>> = fc.record(
      {
        name: texts,
        message: texts,
        nameBy: fc.constant("owner" as const),
        agentId: fc.oneof(texts, fc.constant("main")),
        sessionKey: fc.oneof(texts, fc.constant(LANE)),
        wakeMode: fc.constantFrom("now", "next-heartbeat"),
        timeoutMs: fc.constantFrom(600_000, 1),
        interrupted: fc.constantFrom("rerun", "hold"),
        source: fc.oneof(texts, fc.constant("Email")),
        unsafe: fc.boolean(),
        delivery: fc.constantFrom({ channel: "console", to: "owner" }, { unresolved: "no one" }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(changes, fc.oneof(texts, fc.constant(LANE)), (changed, lane) => {
        const spec = { ...usual, ...changed };
        // SQLite has no text that UTF-8 cannot represent, and lanes are session keys that were checked.
        const runLane = lane.isWellFormed() && !lane.includes("\0") ? lane : LANE;
        expect(restored(spec, runLane)).toEqual(spec);
      }),
      { numRuns: 500 },
    );
  });

  it("is read by a view that files have, so what is usual never changes", () => {
    expect(WHOLE_SPEC).toContain(
      '{"kind":"agent","agentId":"main","wakeMode":"now","timeoutMs":600000,"interrupted":"rerun","source":"Webhook","unsafe":false,',
    );
  });

  it("keeps what is nothing in a value", () => {
    const extract = { schema: { enum: ["a", null], default: null } } as unknown as AgentSpec["extract"];
    const spec = agentSpec({ extract });
    expect(restored(spec, LANE)).toEqual(spec);
  });

  it("is a whole one for a wake", () => {
    const spec = wakeSpec();
    expect(restored(spec, spec.sessionKey)).toEqual(spec);
    expect(JSON.parse(shortSpec(spec, spec.sessionKey).json)).toHaveProperty("kind", "wake");
  });
});
