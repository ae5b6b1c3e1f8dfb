import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { OutageRegistry } from "../../../../src/dispatch/notices/outage-registry.ts";
import { StoreError } from "../../../../src/store/delivery-store.ts";
import { RunnerBench } from "../runner-bench.ts";

const HOUR_MS = 3_600_000;

let nowMs: number;

describe("an outage", () => {
  let bench: RunnerBench;
  let told: { key: string; text: string }[];
  let logged: string[];

  beforeEach(async () => {
    bench = await RunnerBench.open();
    told = [];
    nowMs = 1_000;
    logged = [];
  });
  afterEach(() => bench.close());

  async function registry(store: ConstructorParameters<typeof OutageRegistry>[0]["store"] = bench.store) {
    const log = (_fields: object, message: string): void => void logged.push(message);
    const opened = new OutageRegistry({
      store,
      notices: { tell: async (notice) => void told.push(notice) },
      logger: { debug: log, info: log, warn: log, error: log },
      clock: { now: () => nowMs },
      abandon: AbortSignal.abort(),
    });
    await opened.load();
    return opened;
  }

  it("is told at its first failure, and no more until the subject has worked", async () => {
    const outages = await registry();
    await outages.failed("channel:mail", "Mail fails.");
    await outages.failed("channel:mail", "Mail fails again.");
    await outages.failed("channel:chat", "Chat fails.");
    expect(told).toEqual([
      { key: "outage:channel:mail:1000", text: "Mail fails." },
      { key: "outage:channel:chat:1000", text: "Chat fails." },
    ]);
    await outages.works("channel:mail");
    nowMs += HOUR_MS;
    await outages.failed("channel:mail", "Mail fails once more.");
    expect(told).toHaveLength(3);
  });

  it("that comes and goes is told once an hour, and one that outlasts the hour then", async () => {
    const outages = await registry();
    for (let turn = 0; turn < 10; turn++) {
      await outages.failed("channel:mail", "Mail fails.");
      await outages.works("channel:mail");
    }
    expect(told).toHaveLength(1);
    await outages.failed("channel:mail", "Mail fails.");
    nowMs += HOUR_MS - 1;
    await outages.failed("channel:mail", "Mail fails.");
    expect(told).toHaveLength(1);
    nowMs += 1;
    await outages.failed("channel:mail", "Mail still fails.");
    await outages.failed("channel:mail", "Mail still fails.");
    expect(told.map(({ text }) => text)).toEqual(["Mail fails.", "Mail still fails."]);
  });

  it("is told once of many failures at the same time", async () => {
    const outages = await registry();
    await Promise.all(Array.from({ length: 50 }, () => outages.failed("runs:main", "Runs fail.")));
    expect(told).toHaveLength(1);
  });

  it("goes on over a restart", async () => {
    await (await registry()).failed("runs:main", "Runs fail.");
    const later = await registry();
    await later.failed("runs:main", "Runs fail.");
    expect(told).toHaveLength(1);
    await later.works("runs:main");
    await (await registry()).failed("runs:main", "Runs fail.");
    expect(told).toHaveLength(2);
  });

  it("that is over at once is closed after it was opened", async () => {
    const outages = await registry();
    await Promise.all([outages.failed("runs:main", "Runs fail."), outages.works("runs:main")]);
    expect(await bench.store.outages()).toEqual([]);
  });

  it("is not closed before it was opened, however slow the disk is", async () => {
    const writes: string[] = [];
    const slow = async (write: string): Promise<boolean> => {
      await new Promise(setImmediate);
      return writes.push(write) > 0;
    };
    const outages = await registry({
      openOutage: () => slow("open"),
      closeOutage: async () => writes.push("close") > 0,
      outages: async () => [],
    });
    await Promise.all([outages.failed("runs:main", "Runs fail."), outages.works("runs:main")]);
    expect(writes).toEqual(["open", "close"]);
  });

  it("costs nothing while there is none", async () => {
    const outages = await registry();
    expect(outages.works("runs:main")).toBeUndefined();
  });

  it("is not told by a gateway that finds it opened by another one on the same store", async () => {
    const one = await registry();
    const other = await registry();
    await one.failed("runs:main", "Runs fail.");
    await other.failed("runs:main", "Runs fail.");
    expect(told).toHaveLength(1);
  });

  it("is told although it cannot be stored, and the log says so", async () => {
    const full = () => Promise.reject(new StoreError("UNAVAILABLE", "The disk is full."));
    const outages = await registry({ openOutage: full, closeOutage: full, outages: async () => [] });
    await outages.failed("runs:main", "Runs fail.");
    await outages.works("runs:main");
    expect(told).toHaveLength(1);
    expect(logged.filter((message) => message === "an outage could not be recorded")).toHaveLength(2);
  });

  it("is logged only, and takes no memory, when there are a thousand already", async () => {
    const outages = await registry({
      openOutage: async () => true,
      closeOutage: async () => true,
      outages: async () => Array.from({ length: 1_000 }, (_, at) => `channel:${at}`),
    });
    await outages.failed("runs:main", "Runs fail.");
    expect(told).toEqual([]);
    expect(logged).toEqual(["too many things are out of order; no notice is given of this one"]);
    await outages.works("channel:1");
    await outages.failed("runs:main", "Runs fail.");
    expect(told).toHaveLength(1);
  });
});
