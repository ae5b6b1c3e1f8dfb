import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { deliveryId } from "../../../../../src/storage/sqlite/public-id.ts";
import { ReplayableReader } from "../../../../../src/storage/sqlite/readers/replayable.ts";
import { agentSpec, newCoalesce } from "../../../../conformance/store/new-delivery.ts";
import { openStoreTables, TAG } from "../store-in-thread.ts";

const MEMBER = { seq: 2, tag: TAG };

/** A delivery that coalesces, and one that is a part of it. */
async function open() {
  const { accept, file, reader } = await openStoreTables();
  const coalesce = newCoalesce();
  const spec = agentSpec({ message: "two", sessionKey: "agent:main:hook:7" });
  accept(2, () => ({ coalesce, runs: [{ lane: "the lane", spec }] }));
  const change = (text: string) => {
    const database = new DatabaseSync(file);
    database.exec(text);
    database.close();
  };
  return { accept, spec, change, reader: new ReplayableReader(reader) };
}

describe("ReplayReader", () => {
  it("gives a coalesced delivery the lane of the run that it became a part of", async () => {
    const { reader, spec } = await open();
    const runId = `run_00000001${TAG}_0`;
    expect(reader.read(MEMBER)?.runs).toEqual([{ runId, state: "queued", lane: "the lane", spec }]);
  });

  it("gives it that of its session when the run is gone", async () => {
    const { change, reader, spec } = await open();
    change("DELETE FROM runs");
    expect(reader.read(MEMBER)?.runs).toMatchObject([{ state: "skipped", lane: "agent:main:hook:7", spec }]);
  });

  it("names at most 10,000 deliveries whose calls are a part of its run, the oldest first", async () => {
    const { accept, reader } = await openStoreTables();
    const coalesce = newCoalesce();
    accept(10_003, () => ({ coalesce }));
    const members = new ReplayableReader(reader).read({ seq: 1, tag: TAG })?.members ?? [];
    expect([members.length, members[0], members.at(-1)]).toEqual([10_000, deliveryId(2, TAG), deliveryId(10_001, TAG)]);
  });

  it("names the latest 10 replays of a delivery", async () => {
    const { accept, reader } = await openStoreTables();
    accept(15, (seq) => (seq === 1 ? {} : { replayOf: deliveryId(1, TAG) }));
    const replays = new ReplayableReader(reader).replaysOf({ seq: 1, tag: TAG });
    expect(replays.map(({ id }) => id)).toEqual(
      [15, 14, 13, 12, 11, 10, 9, 8, 7, 6].map((seq) => deliveryId(seq, TAG)),
    );
    expect(new ReplayableReader(reader).replaysOf({ seq: 1, tag: TAG.replace("0", "1") })).toEqual([]);
  });

  it("gives what is left of a delivery when its contents are gone", async () => {
    const { change, reader } = await open();
    change("DELETE FROM contents");
    expect(reader.read(MEMBER)).toMatchObject({ route: "agent", headers: {}, query: {}, body: null, runs: [] });
    expect(reader.read({ seq: 2, tag: TAG.replace("0", "1") })).toBeUndefined();
  });
});
