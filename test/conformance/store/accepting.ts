import { expect, it } from "vitest";
import type { OpenRun } from "../../../src/storage/open-run.ts";
import { agentSpec, dictionary, newDelivery, RECEIVED_AT, wakeSpec } from "./new-delivery.ts";
import { accept, accepted, listAll, openRuns } from "./store-actions.ts";
import type { StoreUnderTest } from "./store-harness.ts";

/** What is stored when a delivery is accepted, and that it stays. */
export function describeAccepting(underTest: () => StoreUnderTest): void {
  it("stores the runs of a held delivery as held, with the reason, and carries none of them out", async () => {
    const { store } = underTest();
    const runs = [
      { lane: "a", spec: agentSpec() },
      { lane: "b", spec: wakeSpec() },
    ];
    const { deliveryId, runIds } = await accept(store, { runs, held: "quarantine: unknown" });
    expect(await store.loadRun(runIds[0]!)).toMatchObject({ state: "held" });
    const detail = await store.get(deliveryId);
    expect(detail).toMatchObject({ state: "held", reason: "quarantine: unknown" });
    expect(detail!.runs.map(({ state, reason }) => ({ state, reason }))).toEqual([
      { state: "held", reason: "quarantine: unknown" },
      { state: "held", reason: "quarantine: unknown" },
    ]);
    const open: unknown[] = [];
    for await (const { runId, state } of store.openRuns()) open.push([runId, state]);
    expect(open).toEqual(runIds.map((runId) => [runId, "held"]));
    await store.settleAll(runIds, { state: "canceled", reason: "no", at: RECEIVED_AT });
    expect(await store.get(deliveryId)).toMatchObject({ state: "canceled", reason: "no" });
  });

  it("gives back the texts of runs that quote the body, and finds what they quote", async () => {
    const session = underTest();
    const quoted = Array.from({ length: 40 }, (_, at) => `größer als ${at * 7919} €, sagt 😀`).join("; ");
    const messages = [`Es heißt: ${quoted}. 😀`, quoted, `${quoted.slice(20)}\n${quoted.slice(0, 300)}`, "Kurz."];
    const runs = messages.map((message, lane) => ({ lane: `${lane}`, spec: agentSpec({ message }) }));
    const wake = [{ lane: "wake", spec: wakeSpec({ text: messages[0]! }) }];
    const body = Buffer.from(JSON.stringify({ quoted, next: 1 }));
    const [agents, woken] = [
      await accept(session.store, { runs, body }),
      await accept(session.store, { runs: wake, body }),
    ];
    const store = await session.reopen();
    const texts = [...messages, messages[0]];
    const ids = [...agents.runIds, woken.runId];
    const specs = await Promise.all(ids.map(async (id) => (await store.loadRun(id)).spec));
    expect(specs.map((spec) => (spec.kind === "wake" ? spec.text : spec.message))).toEqual(texts);
    const details = [await store.get(agents.deliveryId), await store.get(woken.deliveryId)];
    expect(details.flatMap((detail) => detail!.runs.map(({ spec }) => spec))).toEqual(specs);
    const replayable = [await store.replayable(agents.deliveryId), await store.replayable(woken.deliveryId)];
    expect(replayable.flatMap((delivery) => delivery!.runs.map(({ spec }) => spec))).toEqual(specs);
    expect(replayable[0]!.body).toEqual(new Uint8Array(body));
    const both = [woken.deliveryId, agents.deliveryId];
    expect(await listAll(store, { limit: 5, text: "als 158380 €, sagt 😀; gr" })).toEqual(both);
    expect(await listAll(store, { limit: 5, text: "heißt: größer" })).toEqual(both);
  });

  it("refuses to hold what has no run, coalesces or overlaps", async () => {
    const { store } = underTest();
    const ended = { state: "skipped", reason: "no" } as const;
    const overlap = { key: new Uint8Array(32), mode: "skip" } as const;
    const coalesce = { key: new Uint8Array(32), windowMs: 1, maxWaitMs: 1 };
    for (const changes of [{ runs: [], ended }, { overlap }, { coalesce }]) {
      await expect(store.accept(newDelivery({ ...changes, held: "why" }))).rejects.toThrow(RangeError);
    }
  });

  it("gives back a delivery as it was received", async () => {
    const { store } = underTest();
    const headers = dictionary({
      "content-type": "text/plain",
      "x-odd": 'quotes " and\ttabs',
      ["__proto__"]: "header",
    });
    const query = dictionary({ q: "ä€😀", constructor: "x" });
    const body = Buffer.from([0, 1, 2, 0xff, 0xfe, 0x0d, 0x0a, 0]);
    const { deliveryId, runIds } = await accept(store, {
      route: "github/push",
      mappingId: "github",
      name: "GitHub",
      headers,
      query,
      body,
      event: "push",
      actor: "octocat",
      level: "trusted" as const,
      credentialId: "token:1",
    });

    const detail = await store.get(deliveryId);
    expect(detail).toEqual({
      id: deliveryId,
      state: "queued",
      reason: null,
      route: "github/push",
      mappingId: "github",
      name: "GitHub",
      receivedAt: "2026-01-02T03:04:05.678Z",
      runIds,
      event: "push",
      actor: "octocat",
      level: "trusted",
      relatedTo: null,
      headers,
      query,
      bodyBytes: 8,
      runs: [
        {
          id: runIds[0],
          state: "queued",
          reason: null,
          spec: agentSpec(),
          attempts: [],
          reply: null,
          delivery: "none",
          dueAt: null,
          calls: 1,
          steps: [],
          settledAt: null,
        },
      ],
    });
    expect(Object.getPrototypeOf(detail?.headers)).toBeNull();
    expect(Object.getPrototypeOf(detail?.query)).toBeNull();
    expect(Object.keys(detail?.headers ?? {})).toContain("__proto__");
    expect(Buffer.from((await store.body(deliveryId)) ?? [])).toEqual(body);
  });

  it.each([
    ["an empty body", new Uint8Array(0)],
    ["one byte", new Uint8Array([0])],
    ["a megabyte", new Uint8Array(1024 * 1024).map((_, index) => (index * 7) % 256)],
    ["a view into a larger buffer", Buffer.from("0123456789").subarray(3, 6)],
  ])("returns exactly the body: %s", async (_, body) => {
    const { store } = underTest();
    const { deliveryId } = await accept(store, { body });
    expect(Buffer.compare(Buffer.from((await store.body(deliveryId))!), Buffer.from(body))).toBe(0);
    expect((await store.get(deliveryId))?.bodyBytes).toBe(body.byteLength);
  });

  it("returns the spec of each run exactly, whatever its text", async () => {
    const { store } = underTest();
    const specs = [
      agentSpec({
        message: 'quotes " backslash \\ newline \n nul \0 snow ☃ lone \ud800 end',
        model: "m",
        thinking: "high",
      }),
      wakeSpec({ text: "", source: "Email", unsafe: true }),
      agentSpec({ message: "x".repeat(300_000), delivery: { channel: "console", to: "someone" } as never }),
      agentSpec({ delivery: { unresolved: "no recipient yet" }, interrupted: "hold" }),
      wakeSpec({ text: "lone \udfff" }),
    ];
    const { runIds } = await accept(store, { runs: specs.map((spec) => ({ lane: "one", spec })) });
    const first = await Promise.all(runIds.map((id) => store.loadRun(id)));
    expect(first.map((run) => run.spec)).toEqual(specs);
    expect(await Promise.all(runIds.map((id) => store.loadRun(id)))).toEqual(first);
    const reopened = await underTest().reopen();
    expect(await Promise.all(runIds.map((id) => reopened.loadRun(id)))).toEqual(first);
  });

  it("keeps a delivery that ended at once, with its reason and no run", async () => {
    const { store } = underTest();
    const ended = { state: "filtered", reason: "the event is not listed" } as const;
    const { deliveryId, runIds } = accepted(
      await store.accept(newDelivery({ runs: [], ended, body: Buffer.from("b") })),
    );
    expect(runIds).toEqual([]);
    expect(await store.get(deliveryId)).toMatchObject({ ...ended, runIds: [], runs: [], bodyBytes: 1 });
    expect(Buffer.from((await store.body(deliveryId))!).toString()).toBe("b");
  });

  it("refuses a delivery that has neither runs nor an end, or both", async () => {
    const { store } = underTest();
    await expect(store.accept(newDelivery({ runs: [] }))).rejects.toThrow(/runs or an end/u);
    const ended = { state: "skipped", reason: "r" } as const;
    await expect(store.accept(newDelivery({ ended }))).rejects.toThrow(/runs or an end/u);
    expect(await listAll(store, { limit: 10 })).toEqual([]);
  });

  it("commits calls that arrive together in the order of the calls", async () => {
    const { store } = underTest();
    const outcomes = await Promise.all(
      Array.from({ length: 300 }, (_, index) => store.accept(newDelivery({ name: `call ${index}` }))),
    );
    const ids = outcomes.map((outcome) => outcome.deliveryId);
    expect(new Set(ids).size).toBe(300);
    expect(await listAll(store, { limit: 200 })).toEqual(ids.toReversed());
  });

  it("gives ids that sort in order of acceptance and do not reveal the next one", async () => {
    const { store } = underTest();
    const ids: string[] = [];
    for (let index = 0; index < 5; index++) ids.push((await accept(store)).deliveryId);
    expect(ids.toSorted()).toEqual(ids);
    for (const id of ids) expect(id).toMatch(/^dlv_[0-9a-z]{20,}$/u);
    expect(new Set(ids.map((id) => id.slice(-16))).size).toBe(5);
  });

  it("has everything after it was closed and opened again", async () => {
    const session = underTest();
    const before = await accept(session.store, { body: Buffer.from("kept") });
    const detail = await session.store.get(before.deliveryId);
    const reopened = await session.reopen();
    expect(await reopened.get(before.deliveryId)).toEqual(detail);
    expect(Buffer.from((await reopened.body(before.deliveryId))!).toString()).toBe("kept");
    const after = await accept(reopened);
    expect(after.deliveryId > before.deliveryId).toBe(true);
    expect(await listAll(reopened, { limit: 10 })).toEqual([after.deliveryId, before.deliveryId]);
  });

  it("streams open runs in order of acceptance, with their lanes, and leaves the settled out", async () => {
    const { store } = underTest();
    const first = await accept(store, {
      mappingId: "github",
      runs: [
        { lane: "a", spec: agentSpec() },
        { lane: "b", spec: wakeSpec(), expiresAt: RECEIVED_AT + 5 },
        { lane: "a", spec: agentSpec(), expiresAt: null },
      ],
    });
    const second = await accept(store, { runs: [{ lane: "b", spec: wakeSpec() }] });
    const third = await accept(store, { runs: [{ lane: "c", spec: agentSpec() }] });
    await store.beginAttempt(third.runId, { number: 1, startedAt: RECEIVED_AT });
    await store.hold(first.runIds[1]!, "a person decides");
    await store.settle(first.runIds[0]!, { state: "done", reason: null });

    const rest = { mappingId: null, dueAt: null, expiresAt: null, begun: false, replied: false };
    const expected: OpenRun[] = [
      {
        ...rest,
        runId: first.runIds[1]!,
        mappingId: "github",
        lane: "b",
        kind: "wake",
        state: "held",
        expiresAt: RECEIVED_AT + 5,
      },
      { ...rest, runId: first.runIds[2]!, mappingId: "github", lane: "a", kind: "agent", state: "queued" },
      { ...rest, runId: second.runId, lane: "b", kind: "wake", state: "queued" },
      { ...rest, runId: third.runId, lane: "c", kind: "agent", state: "running", begun: true },
    ];
    expect(await openRuns(store)).toEqual(expected);
    const reopened = await underTest().reopen();
    expect(await openRuns(reopened)).toEqual(expected);
  });

  it("streams thousands of open runs once each, and none that was accepted after the call", async () => {
    const { store } = underTest();
    const runs = Array.from({ length: 4 }, (_, index) => ({ lane: `lane ${index}`, spec: wakeSpec() }));
    const outcomes = await Promise.all(Array.from({ length: 400 }, () => store.accept(newDelivery({ runs }))));
    const expected = outcomes.flatMap((outcome) => accepted(outcome).runIds);
    const stream = store.openRuns();
    const seen: string[] = [];
    for await (const run of stream) {
      if (seen.length === 0) await accept(store);
      seen.push(run.runId);
    }
    expect(seen).toEqual(expected);
  });
}
