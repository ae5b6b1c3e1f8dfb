import { describe, expect, it, vi } from "vitest";
import type { Action } from "../../../src/core/delivery.ts";
import type { AcceptedEvent, DispatchedEvent, SettledEvent } from "../../../src/core/events.ts";
import { startWith } from "./tapped-gateway.ts";

/** For what happens by itself; how long it takes is no matter. */
const SOON = { timeout: 15_000, interval: 5 };
const QUIET = { message: "x", deliver: false, wakeMode: "next-heartbeat" };

describe("actions", () => {
  async function run(change: (actions: readonly Action[]) => readonly Action[] | Promise<readonly Action[]>) {
    await using gateway = await startWith((hooks) => {
      hooks.actions.tapPromise("changer", async (actions) => change(actions));
    });
    const answer = await gateway.post("/hooks/agent", QUIET);
    const [newest] = await gateway.deliveries();
    const specs = newest ? (await gateway.delivery(newest.id)).runs.map(({ spec }) => spec) : [];
    return { answer, newest, specs };
  }

  it("may be changed", async () => {
    const { answer, specs } = await run((actions) => actions.map((action) => ({ ...action, name: "Changed" })));
    expect(answer.status).toBe(202);
    expect(specs).toMatchObject([{ kind: "agent", name: "Changed", message: "x" }]);
  });

  it("may become others, of another kind and number", async () => {
    const wake: Action = { kind: "wake", text: "instead", mode: "next-heartbeat" };
    const { answer, specs } = await run(() => [wake]);
    expect([answer.status, answer.body["mode"]]).toEqual([200, "next-heartbeat"]);
    expect(specs).toMatchObject([{ kind: "wake", text: "instead" }]);
    const both = await run((actions) => [...actions, wake]);
    expect([both.answer.status, both.answer.body["dispatched"]]).toEqual([202, 2]);
  });

  it("may be emptied: 204, and a delivery that is skipped and says why", async () => {
    const { answer, newest } = await run(() => []);
    expect([answer.status, answer.text]).toEqual([204, ""]);
    expect(newest).toMatchObject({ state: "skipped", reason: "a plugin left no action" });
  });

  it("are held to policy as the caller's own are", async () => {
    const { answer, newest } = await run((actions) =>
      actions.map((action) => ({ ...action, channel: "pigeon", deliver: true })),
    );
    expect(answer.status).toBe(400);
    expect(newest).toBeUndefined();
  });
});

describe("policy", () => {
  it("denies with 403 and the tap's message, and nothing is stored", async () => {
    await using gateway = await startWith((hooks) => {
      hooks.policy.tap("indifferent", () => undefined);
      hooks.policy.tapPromise("office-hours", async (run, { headers }) =>
        run.kind === "agent" && headers["x-urgent"] !== "yes" ? { deny: "No runs at night." } : undefined,
      );
    });
    const answer = await gateway.post("/hooks/agent", QUIET);
    expect([answer.status, answer.body]).toEqual([403, { ok: false, error: "No runs at night.", code: "DENIED" }]);
    expect(await gateway.deliveries()).toEqual([]);
    expect((await gateway.post("/hooks/agent", QUIET, { "x-urgent": "yes" })).status).toBe(202);
    expect((await gateway.post("/hooks/wake", { text: "x", mode: "next-heartbeat" })).status).toBe(200);
  });

  it("asks every tap until one denies, whatever the others return for nothing", async () => {
    const nothing = [null, false, "", 0] as unknown as undefined[];
    await using gateway = await startWith((hooks) => {
      for (const result of nothing) {
        hooks.policy.tap("sync", () => result);
        hooks.policy.tapPromise("promise", async () => result);
        hooks.policy.tapAsync("callback", (_run, _context, done) => done(null, result));
      }
      hooks.policy.tap("denies", () => ({ deny: "Never." }));
    });
    expect(await gateway.post("/hooks/agent", QUIET)).toMatchObject({ status: 403, body: { error: "Never." } });
  });

  it("that fails lets nothing through: 500, and the log names the tap", async () => {
    await using gateway = await startWith((hooks) => {
      hooks.policy.tapPromise("broken", async () => {
        throw new Error("its database is gone");
      });
    });
    const answer = await gateway.post("/hooks/agent", QUIET);
    expect([answer.status, answer.body["code"]]).toEqual([500, "INTERNAL"]);
    expect(answer.text).not.toContain("database");
    expect(await gateway.deliveries()).toEqual([]);
    expect(gateway.errors.join()).toContain('Hook "policy", tap "broken": its database is gone');
    expect((await gateway.post("/hooks/agent", QUIET)).status).toBe(500);
  });
});

describe("accepted, dispatched and settled", () => {
  it("observe a delivery from the commit to its end", async () => {
    const accepted: AcceptedEvent[] = [];
    const dispatched: DispatchedEvent[] = [];
    const settled: SettledEvent[] = [];
    await using gateway = await startWith((hooks) => {
      hooks.accepted.tapPromise("observer", async (event) => void accepted.push(event));
      hooks.dispatched.tapPromise("observer", async (event) => void dispatched.push(event));
      hooks.settled.tapPromise("observer", async (event) => void settled.push(event));
    });
    const agent = await gateway.post("/hooks/agent", { ...QUIET, name: "CI" }, { "idempotency-key": "k" });
    const { runId, deliveryId } = agent.body;
    const reply = expect.any(String) as unknown;
    expect(accepted).toEqual([{ deliveryId, runIds: [runId], route: "agent", name: "CI" }]);
    await vi.waitFor(
      () => expect(settled).toEqual([{ runId, kind: "agent", state: "done", reason: null, reply }]),
      SOON,
    );
    expect(dispatched).toEqual([{ runId, kind: "agent", attempt: 1 }]);
    // A repeat is no new delivery.
    await gateway.post("/hooks/agent", { ...QUIET, name: "CI" }, { "idempotency-key": "k" });
    expect(accepted).toHaveLength(1);
    await gateway.post("/hooks/wake", { text: "x", mode: "next-heartbeat" });
    await vi.waitFor(() => expect(settled.at(-1)).toMatchObject({ kind: "wake", state: "done" }), SOON);
    expect(dispatched.at(-1)).toMatchObject({ kind: "wake", attempt: 1 });
  });

  it("and received are never fatal when an observer throws: the log says so, and everything continues", async () => {
    await using gateway = await startWith((hooks) => {
      const fail = (): never => {
        throw new Error("observer out of order");
      };
      hooks.received.tap("broken", fail);
      hooks.accepted.tapPromise("broken", async () => fail());
      hooks.dispatched.tap("broken", fail);
      hooks.settled.tapPromise("broken", async () => fail());
    });
    const answer = await gateway.post("/hooks/agent", QUIET);
    expect(answer.status).toBe(202);
    expect((await gateway.ended(answer.body["deliveryId"])).state).toBe("done");
    expect((await gateway.post("/hooks/wake", { text: "x", mode: "next-heartbeat" })).status).toBe(200);
    await vi.waitFor(() => {
      const errors = gateway.errors.join("\n");
      for (const hook of ["received", "accepted", "dispatched", "settled"]) {
        expect(errors).toContain(
          `an observer of the ingress failed: Hook "${hook}", tap "broken": observer out of order`,
        );
      }
    }, SOON);
  });
});
