import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { DONE } from "../../../../../src/storage/sqlite/codes.ts";
import { openRetentionTables, type RowToRetain } from "./retention-tables.ts";

const PAGE_BYTES = 8192;
const large = (): RowToRetain => ({ receivedAt: 100, runs: [DONE], body: randomBytes(250_000) });
const rangeOf = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

async function openWith(deliveries: number) {
  const tables = await openRetentionTables();
  tables.insert(...rangeOf(deliveries).map(large));
  const bytes = () => Number(tables.database.prepare("PRAGMA page_count").get()?.["page_count"]) * PAGE_BYTES;
  return { tables, bytes };
}

describe("the file", () => {
  it("shrinks when most of it was removed, and keeps some free pages for what comes", async () => {
    const { tables, bytes } = await openWith(200);
    const full = bytes();
    const { removed } = tables.pruneAll({ maxBytes: 3_000_000 });
    expect(removed).toBeGreaterThan(180);
    expect(bytes()).toBeLessThan(full / 2);
    expect(bytes()).toBeGreaterThan(16 * 1024 * 1024);
    expect(tables.database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    expect(tables.filled()).toEqual(rangeOf(200).slice(removed));
  });

  it("keeps its size while a small part of it is free", async () => {
    const { tables, bytes } = await openWith(100);
    const full = bytes();
    expect(tables.pruneAll({ maxBytes: 15_000_000 }).removed).toBeGreaterThan(30);
    expect(bytes()).toBe(full);
  });
});
