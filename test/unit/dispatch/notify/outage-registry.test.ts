import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Notice } from "../../../../src/dispatch/context.ts";
import { OutageRegistry } from "../../../../src/dispatch/notify/outage-registry.ts";
import { StoreError } from "../../../../src/storage/delivery-store.ts";
import { RunnerBench } from "../runner-bench.ts";

const HOUR_MS = 3_600_000;

let nowMs: number;

describe("an outage", () => {
  let bench: RunnerBench;
  let told: Notice[];
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
      notices: { notify: async (notice) => void told.push(notice) },
      logger: { debug: log, info: log, warn: log, error: log },
      clock: { now: () => nowMs },
      abandon: AbortSignal.abort(),
    });
    await opened.load();
    return opened;
  }

  it("is reported at its first failure, and not again until the subject has worked", async () => {
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

  it("that comes and goes is reported once an hour, and one that outlasts the hour at its end", async () => {
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

  it("is followed by one that counts the failures and names at most five origins", async () => {
    const outages = await registry();
    for (let at = 1; at <= 7; at++) await outages.failed("runs:main", "Runs fail.", { of: `the mapping m${at}` });
    await outages.failed("runs:main", "Runs fail.", { of: "the mapping m1" });
    await outages.works("runs:main", "Runs succeed again.");
    expect(told.map(({ text }) => text)).toEqual([
      "Runs fail.",
      "Runs succeed again. Meanwhile: 8 failures, from the mapping m1, the mapping m2, the mapping m3, the mapping m4, the mapping m5 and 2 more.",
    ]);
  });

  it("hands on the words of others apart from the notice's own", async () => {
    const outages = await registry();
    await outages.failed("channel:mail", "Mail fails.", { detail: "550 no such user" });
    expect(told).toEqual([{ key: "outage:channel:mail:1000", text: "Mail fails.", detail: "550 no such user" }]);
  });

  it("of the quiet hour is not stored before it is reported, so that a restart does not silence it", async () => {
    const outages = await registry();
    await outages.failed("channel:mail", "Mail fails.");
    await outages.works("channel:mail");
    await outages.failed("channel:mail", "Mail fails.");
    expect(told).toHaveLength(1);
    expect(await bench.store.outages()).toEqual([]);
    const later = await registry();
    await later.failed("channel:mail", "Mail still fails.");
    await later.failed("channel:mail", "Mail still fails.");
    expect(told.map(({ text }) => text)).toEqual(["Mail fails.", "Mail still fails."]);
    await (await registry()).failed("channel:mail", "Mail still fails.");
    expect(told).toHaveLength(2);
  });

  it("of the quiet hour is stored when it outlasts the hour and is reported", async () => {
    const outages = await registry();
    await outages.failed("channel:mail", "Mail fails.");
    await outages.works("channel:mail");
    await outages.failed("channel:mail", "Mail fails.");
    nowMs += HOUR_MS;
    await outages.failed("channel:mail", "Mail still fails.");
    expect(await bench.store.outages()).toEqual(["channel:mail"]);
    await outages.works("channel:mail");
    expect(await bench.store.outages()).toEqual([]);
  });

  it("that ends in the quiet hour is not written anywhere", async () => {
    const outages = await registry();
    await outages.failed("channel:mail", "Mail fails.");
    await outages.works("channel:mail");
    await outages.failed("channel:mail", "Mail fails.");
    expect(outages.works("channel:mail")).toBeUndefined();
    nowMs += HOUR_MS;
    await outages.failed("channel:mail", "Mail fails again.");
    expect(told).toHaveLength(2);
  });

  it("says when the notices so far are delivered and recorded on disk", async () => {
    const outages = await registry();
    void outages.failed("runs:main", "Runs fail.");
    void outages.failed("channel:mail", "Mail fails.");
    await outages.written();
    expect(told).toHaveLength(2);
    void outages.works("runs:main");
    await outages.written();
    expect(await bench.store.outages()).toEqual(["channel:mail"]);
  });

  it("that ends and begins again while the disk is slow is reported once", async () => {
    const outages = await registry();
    void outages.failed("channel:mail", "Mail fails.");
    void outages.works("channel:mail");
    await outages.failed("channel:mail", "Mail fails.");
    await outages.written();
    expect(told).toHaveLength(1);
  });

  it("is notified once of many failures at the same time", async () => {
    const outages = await registry();
    await Promise.all(Array.from({ length: 50 }, () => outages.failed("runs:main", "Runs fail.")));
    expect(told).toHaveLength(1);
  });

  it("continues over a restart", async () => {
    await (await registry()).failed("runs:main", "Runs fail.");
    const later = await registry();
    await later.failed("runs:main", "Runs fail.");
    expect(told).toHaveLength(1);
    await later.works("runs:main");
    await (await registry()).failed("runs:main", "Runs fail.");
    expect(told).toHaveLength(2);
  });

  it("that ends at once is closed after it was opened", async () => {
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

  it("is not sent by a gateway that finds it sent by another one on the same store", async () => {
    const one = await registry();
    const other = await registry();
    await one.failed("runs:main", "Runs fail.");
    await other.failed("runs:main", "Runs fail.");
    expect(told).toHaveLength(1);
  });

  it("is reported although it cannot be stored, and the log says so", async () => {
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
    expect(logged).toEqual(["too many outages; no notice sent"]);
    await outages.works("channel:1");
    await outages.failed("runs:main", "Runs fail.");
    expect(told).toHaveLength(1);
  });
});
