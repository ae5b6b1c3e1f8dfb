import { describe, expect, it } from "vitest";
import type { NewDelivery } from "../../../../../src/storage/new-delivery.ts";
import { acceptRow } from "../../../../../src/storage/sqlite/operations/accept-row.ts";
import {
  deliveryBytes,
  emptyBytes,
  requestBytes,
} from "../../../../../src/storage/sqlite/operations/delivery-bytes.ts";
import { shortSpec } from "../../../../../src/storage/sqlite/short-spec.ts";
import { agentSpec, dictionary, endedDelivery, newDelivery } from "../../../../conformance/store/new-delivery.ts";
import { openStoreTables, TAG } from "../store-in-thread.ts";

const rowOf = (changes: Partial<NewDelivery>) => acceptRow(1, TAG, newDelivery(changes));
const request = { headers: dictionary({ a: "b" }), query: dictionary({}), body: Buffer.alloc(1000) };
const REQUEST_BYTES = '{"a":"b"}'.length + "{}".length + 1000;

describe("the bytes of a delivery", () => {
  it("are those of its request, of its runs' specs and texts, and 500 for itself and each run", () => {
    const specs = [agentSpec({ message: "x".repeat(100) }), agentSpec({ message: "not \ud800 well-formed" })];
    const [first, second] = specs.map((spec) => shortSpec(spec, "a"));
    const runs = specs.map((spec) => ({ lane: "a", spec }));
    expect(second!.text).toBeNull();
    expect(deliveryBytes(rowOf({ ...request, runs }))).toBe(
      1500 + REQUEST_BYTES + 100 + first!.json.length + second!.json.length,
    );
    expect(requestBytes(rowOf({ ...request, runs }))).toBe(500 + REQUEST_BYTES);
    expect(emptyBytes(2)).toBe(1500);
    expect(deliveryBytes(acceptRow(1, TAG, endedDelivery("filtered", "a bot", request)))).toBe(500 + REQUEST_BYTES);
  });

  it("are stored with it", async () => {
    const { accept, reader } = await openStoreTables();
    accept(2, (seq) => (seq === 1 ? request : { ...request, runs: [], ended: { state: "filtered", reason: "a bot" } }));
    const stored = reader.prepare("SELECT bytes FROM deliveries ORDER BY seq").all();
    expect(stored.map(({ bytes }) => bytes)).toEqual([deliveryBytes(rowOf(request)), 500 + REQUEST_BYTES]);
  });
});
