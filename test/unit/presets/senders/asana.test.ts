import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { asana } from "../../../../src/presets/senders/asana.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { callOf, compile, keyBox } from "../../auth/handshake/handshake-bench.ts";

const KEY = "a1b2c3d4".repeat(8);
const event = (changes: Readonly<Record<string, unknown>> = {}) => ({
  user: { gid: "7" },
  created_at: "2026-11-20T12:00:00Z",
  action: "changed",
  resource: { gid: "12", resource_type: "task" },
  ...changes,
});
const read = (...events: readonly unknown[]) => readSample(asana, { payload: { events } });

describe("asana", () => {
  it("names the event and the user of one change", () => {
    const { event, deliveryId, sender, skip, answer } = readSample(asana, asana.samples["task.changed"]!);
    expect({ event, deliveryId, sender, skip, answer }).toEqual({
      event: "task.changed",
      deliveryId: undefined,
      sender: { name: "1200000000000001", id: "1200000000000001", bot: false },
      skip: undefined,
      answer: { status: 200 },
    });
  });

  it("names every kind of change of a request that carries several", () => {
    expect(readSample(asana, asana.samples["task.added"]!).event).toBe("task.added+story.added");
  });

  it("knows no sender when several users stand behind it, or none", () => {
    expect(read(event(), event({ user: { gid: "8" } })).sender).toBeUndefined();
    expect(read(event({ user: null })).sender).toBeUndefined();
    expect(read().sender).toBeUndefined();
  });

  it("names the changed field, the task and the actor", () => {
    expect(readSample(asana, asana.samples["task.changed"]!).message).toBe(
      "Task 1200000000000100 was changed: due on (by user 1200000000000001, 2026-11-20 11:59 UTC) https://app.asana.com/0/0/1200000000000100",
    );
  });

  it("lists each addition with its place, one a line", () => {
    expect(readSample(asana, asana.samples["task.added"]!).message).toBe(
      [
        "2 changes in Asana:",
        "Task 1200000000000101 was added in project 1200000000000010 (by user 1200000000000002, 2026-11-20 11:59 UTC) https://app.asana.com/0/0/1200000000000101",
        "Story 1200000000000200 was added in task 1200000000000101: comment added (by user 1200000000000002, 2026-11-20 11:59 UTC) https://app.asana.com/0/0/1200000000000101",
      ].join("\n"),
    );
  });

  it("says from where something was removed", () => {
    const removed = event({
      action: "removed",
      parent: { gid: "9", resource_type: "section" },
      user: null,
      created_at: null,
    });
    expect(read(removed).message).toBe("Task 12 was removed from section 9 https://app.asana.com/0/0/12");
  });

  it("lists the fields of what it has no words for", () => {
    expect(readSample(asana, { payload: { hello: "there" } }).message).toBe("Asana event\nhello: there");
  });
});

describe("asana's handshakes", () => {
  const fresh = () => {
    const deliveredKeys = keyBox();
    return { deliveredKeys, handshakes: compile(asana.handshakes, { secrets: [], deliveredKeys }) };
  };

  it.each([
    ["without a body", ""],
    ["with an empty object", "{}"],
  ])("keeps the delivered secret and repeats it in the answer to a request %s", async (_, body) => {
    const { deliveredKeys, handshakes } = fresh();
    const answered = await handshakes.unverified(callOf({ body, headers: { "x-hook-secret": KEY } }));
    expect(answered?.answer.status).toBe(200);
    expect(answered?.answer.headers).toMatchObject({ "x-hook-secret": KEY });
    expect(deliveredKeys.get("sender")).toBe(KEY);
  });

  it("takes no second secret", async () => {
    const { deliveredKeys, handshakes } = fresh();
    await handshakes.unverified(callOf({ headers: { "x-hook-secret": KEY } }));
    expect(await handshakes.unverified(callOf({ headers: { "x-hook-secret": "b".repeat(64) } }))).toBeUndefined();
    expect(deliveredKeys.get("sender")).toBe(KEY);
  });

  it.each([
    ["with events", { json: { events: [] }, headers: { "x-hook-secret": KEY } }],
    ["that is signed", { json: {}, headers: { "x-hook-secret": KEY, "x-hook-signature": "00" } }],
    ["without the header", { json: {} }],
  ])("takes no secret from a request %s", async (_, sent) => {
    const { deliveredKeys, handshakes } = fresh();
    expect(await handshakes.unverified(callOf(sent))).toBeUndefined();
    expect(deliveredKeys.get("sender")).toBeUndefined();
  });

  it("answers a verified heartbeat with 200, and no events", async () => {
    const { handshakes } = fresh();
    expect((await handshakes.verified(callOf({ json: { events: [] } })))?.answer.status).toBe(200);
    expect(await handshakes.verified(callOf({ json: { events: [event()] } }))).toBeUndefined();
    expect(await handshakes.unverified(callOf({ json: { events: [] } }))).toBeUndefined();
  });

  it("verifies events with the secret that was delivered", async () => {
    const { deliveredKeys } = fresh();
    await deliveredKeys.accept("asana", KEY);
    const body = JSON.stringify({ events: [event()] });
    const signature = createHmac("sha256", KEY).update(body).digest("hex");
    const call = (text: string) => callOf({ body: text, headers: { "x-hook-signature": signature } });
    expect((await verifyCall(asana, call(body), { deliveredKeys })).ok).toBe(true);
    expect((await verifyCall(asana, call(`${body} `), { deliveredKeys })).ok).toBe(false);
  });
});
