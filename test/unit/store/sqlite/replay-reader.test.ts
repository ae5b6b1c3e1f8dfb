import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { ReplayReader } from "../../../../src/store/sqlite/replay-reader.ts";
import { agentSpec, newCoalesce } from "../../../conformance/store/new-delivery.ts";
import { openStoreTables, TAG } from "./store-in-thread.ts";

const MEMBER = { seq: 2, tag: TAG };

/** A delivery that gathers, and one that is a part of it. */
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
  return { spec, change, reader: new ReplayReader(reader) };
}

describe("ReplayReader", () => {
  it("gives a coalesced delivery the lane of the run that it became a part of", async () => {
    const { reader, spec } = await open();
    expect(reader.read(MEMBER)?.runs).toEqual([{ lane: "the lane", spec }]);
  });

  it("gives it that of its session when the run is no longer there", async () => {
    const { change, reader, spec } = await open();
    change("DELETE FROM runs");
    expect(reader.read(MEMBER)?.runs).toEqual([{ lane: "agent:main:hook:7", spec }]);
  });

  it("gives what is left of a delivery when its contents are gone", async () => {
    const { change, reader } = await open();
    change("DELETE FROM contents");
    expect(reader.read(MEMBER)).toMatchObject({ route: "agent", headers: {}, query: {}, body: null, runs: [] });
    expect(reader.read({ seq: 2, tag: TAG.replace("0", "1") })).toBeUndefined();
  });
});
