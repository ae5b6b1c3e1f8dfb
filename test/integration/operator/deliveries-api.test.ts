import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DeliverySummary } from "../../../src/core/delivery.ts";
import { gatewayToken } from "../../unit/hosts/embedded/gateway/fixture.ts";
import { RawConnection } from "../../unit/hosts/embedded/server/raw-connection.ts";
import { OperatedGateway } from "./operated-gateway.ts";

const build = {
  id: "build",
  match: { path: "build" },
  messageTemplate: "The build of {{branch}} failed.",
  sessionKey: "hook:build",
  name: "CI",
  wakeMode: "next-heartbeat",
  deliver: false,
};
let operated: OperatedGateway;

beforeAll(async () => {
  operated = await OperatedGateway.start({ mappings: [build], interrupted: "hold" });
});
afterAll(async () => {
  await operated[Symbol.asyncDispose]();
});

interface Item {
  readonly id: string;
  readonly outcome: string;
  readonly reason?: string;
  readonly replay?: Readonly<Record<string, unknown>>;
}

function items({ body }: { body: Readonly<Record<string, unknown>> }): readonly Item[] {
  return body["deliveries"] as readonly Item[];
}

async function listed(query: string): Promise<readonly string[]> {
  const { status, body } = await operated.api("GET", `deliveries?${query}`);
  expect(status).toBe(200);
  return (body["deliveries"] as readonly DeliverySummary[]).map(({ name }) => name);
}

/** A delivery whose run the model is at, until it is canceled. */
async function underWay(branch: string): Promise<string> {
  operated.model.delayMs = 600_000;
  const id = await operated.accept("build", { branch });
  await operated.becomes(id, "running");
  // It is running a moment before the model is asked, which would answer at once if the delay ended in between.
  await expect.poll(() => operated.model.prompts.some((prompt) => prompt.includes(`of ${branch} failed`))).toBe(true);
  return id;
}

describe("the list of deliveries", () => {
  it("is narrowed by route, time and text", async () => {
    await operated.becomes(await operated.accept("build", { branch: "main" }), "done");
    await operated.becomes(
      await operated.accept("agent", { message: "Look.", name: "Direct", wakeMode: "next-heartbeat" }),
      "done",
    );
    expect(await listed("route=build")).toEqual(["CI"]);
    expect(await listed("text=the+BUILD+of+main")).toEqual(["CI"]);
    expect(await listed("text=100%25")).toEqual([]);
    expect(await listed("actor=ada")).toEqual([]);
    expect(await listed("sender=ada")).toEqual([]);
    const { body } = await operated.api("GET", "deliveries");
    expect(body["deliveries"]).toEqual(Array(2).fill(expect.objectContaining({ actor: null, sender: null })));
    const now = Date.now();
    for (const [since, until] of [
      ["1h", String(now + 60_000)],
      [new Date(now - 60_000).toISOString(), new Date(now + 60_000).toISOString()],
      ["2024-01-01", "2099-12-31"],
      ["1.5 h", "2099-12-31T23:59%2B02:00"],
    ]) {
      expect(await listed(`since=${since}&until=${until}`)).toEqual(["Direct", "CI"]);
    }
    expect(await listed(`since=${now + 60_000}`)).toEqual([]);
    expect(await listed("until=1h")).toEqual([]);
  });

  it.each([
    ["since=yesterday", "since must be a time such as"],
    ["until=2026-02-27T10:00", "until must be a time such as"],
    ["since=2026-13-01", "since must be a time such as"],
    ["since=", "since must have 1 to 1024 characters."],
    ["text=", "text must have 1 to 1024 characters."],
    [`sender=${"x".repeat(1_025)}`, "sender must have 1 to 1024 characters."],
    ["actor=ada&sender=bob", "sender is the earlier name of actor; leave it out."],
    ["state=lost", "state must be one of filtered"],
  ])("is not given for %s", async (query, error) => {
    const { status, body } = await operated.api("GET", `deliveries?${query}`);
    expect([status, body["code"]]).toEqual([400, "INVALID_QUERY"]);
    expect(body["error"]).toContain(error);
  });
});

describe("the body of a delivery", () => {
  it("is given as it came in, as a file that no browser opens", async () => {
    const id = await operated.accept("build", { branch: "<script>" });
    const headers = { authorization: `Bearer ${gatewayToken}` };
    const response = await fetch(`${operated.gateway.url}/api/v1/deliveries/${id}/body`, { headers });
    expect([response.status, await response.text()]).toEqual([200, '{"branch":"<script>"}']);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename="${id}.bin"`,
      "content-length": "21",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
    const head = await fetch(response.url, { method: "HEAD", headers });
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "21", ""]);
    expect((await operated.api("GET", "deliveries/dlv_nobody/body")).status).toBe(404);
    expect((await fetch(response.url)).status).toBe(401);
    const connection = await RawConnection.open(Number(new URL(operated.gateway.url).port));
    const lines = [`GET /api/v1/deliveries/${id}/body HTTP/1.1`, "Host: x", `Authorization: Bearer ${gatewayToken}`];
    connection.send([...lines, "Content-Length: 9", "", "half"].join("\r\n"));
    expect(await connection.answers(1)).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*connection: close/iu);
    connection.destroy();
    await operated.becomes(id, "done");
  });
});

describe("a replay", () => {
  it("makes a new delivery by today's configuration, or as it was accepted", async () => {
    const first = await operated.accept("build", { branch: "replayed" });
    await operated.becomes(first, "done");
    const mapping = { ...build, messageTemplate: "Today the build of {{branch}} failed." };
    await operated.reload({ mappings: [mapping], interrupted: "hold" });
    const today = await operated.api("POST", `deliveries/${first}/replay`);
    expect([today.status, today.body]).toEqual([
      200,
      {
        ok: true,
        id: first,
        outcome: "replayed",
        replay: { deliveryId: expect.any(String), runIds: [expect.any(String)], state: "queued" },
      },
    ]);
    const { deliveryId } = today.body["replay"] as { deliveryId: string };
    const again = await operated.becomes(deliveryId, "done");
    expect(again.relatedTo).toEqual({ how: "replay", deliveryId: first });
    expect(again.runs[0]?.spec).toMatchObject({ message: "Today the build of replayed failed." });

    const asAccepted = await operated.api("POST", `deliveries/${first}/replay`, { asAccepted: true });
    const accepted = await operated.becomes(
      (asAccepted.body["replay"] as typeof today.body)["deliveryId"] as string,
      "done",
    );
    expect(accepted.runs[0]?.spec).toMatchObject({ message: "The build of replayed failed." });
    await operated.reload({ mappings: [build], interrupted: "hold" });
  });

  it("of calls that were coalesced lists every new delivery", async () => {
    const burst = { ...build, id: "burst", match: { path: "burst" }, coalesce: { windowSeconds: 3_600 } };
    const single = { ...burst, coalesce: undefined, messageTemplate: "{{gone}}" };
    await operated.reload({ mappings: [burst], interrupted: "hold" });
    const ids: string[] = [];
    for (const branch of ["one", "two", "three"]) ids.push(await operated.accept("burst", { branch }));
    await operated.api("POST", `deliveries/${ids[0]}/cancel`);

    const dry = await operated.api("POST", "deliveries/replay", { filter: { route: "burst" }, dryRun: true });
    expect(items(dry).map(({ id, outcome }) => [id, outcome])).toEqual([
      [ids[0], "planned"],
      [ids[1], "left"],
      [ids[2], "left"],
    ]);
    expect(items(dry)[0]?.replay).toEqual({ runs: 1, repeated: 1, done: 0, calls: 3 });

    const { body } = await operated.api("POST", `deliveries/${ids[0]}/replay`);
    const part = (id: string | undefined) => ({
      id,
      outcome: "replayed",
      replay: { deliveryId: expect.any(String) as unknown, state: "coalesced" },
    });
    expect(body["replay"]).toEqual({
      deliveryId: expect.any(String),
      runIds: [expect.any(String)],
      state: "queued",
      gathered: [part(ids[1]), part(ids[2])],
      left: [],
      stopped: null,
    });
    const { deliveryId } = body["replay"] as { deliveryId: string };
    expect((await operated.delivery(deliveryId)).runs[0]?.calls).toBe(3);
    await operated.api("POST", `deliveries/${deliveryId}/cancel`);

    operated.model.delayMs = 600_000;
    await operated.reload({ mappings: [{ ...build, id: "burst", match: { path: "burst" } }], maxQueuedRuns: 2 });
    const full = await operated.api("POST", `deliveries/${ids[0]}/replay`);
    expect([full.status, full.body["replay"]]).toMatchObject([
      200,
      { gathered: [{ id: ids[1] }], left: [ids[2]], stopped: { code: "QUEUE_FULL", error: expect.any(String) } },
    ]);
    const open = await operated.api("POST", "deliveries/cancel", { filter: { route: "burst" } });
    expect(items(open).filter(({ outcome }) => outcome === "canceled")).toHaveLength(2);
    operated.model.delayMs = 0;
    await operated.reload({ mappings: [single], interrupted: "hold" });
    expect((await operated.api("POST", `deliveries/${ids[0]}/replay`)).body["code"]).toBe("INVALID_ACTION");
    await operated.reload({ mappings: [build], interrupted: "hold" });
  });

  it("is refused for one that is open, unknown, or that nothing is kept of", async () => {
    const running = await underWay("open");
    const open = await operated.api("POST", `deliveries/${running}/replay`, {});
    expect([open.status, open.body["code"]]).toEqual([409, "WRONG_STATE"]);
    expect(open.body["error"]).toContain("it is running and would run twice");
    await operated.api("POST", `deliveries/${running}/cancel`);
    operated.model.delayMs = 0;
    expect((await operated.api("POST", "deliveries/dlv_nobody/replay")).status).toBe(404);

    const kept = await operated.accept("agent", {
      message: "Once.",
      idempotencyKey: "once",
      wakeMode: "next-heartbeat",
    });
    await operated.becomes(kept, "done");
    const purged = await operated.api("DELETE", `deliveries/${kept}`);
    expect([purged.status, purged.body]).toEqual([200, { ok: true, id: kept, outcome: "emptied" }]);
    const gone = await operated.api("POST", `deliveries/${kept}/replay`);
    expect([gone.status, gone.body["code"]]).toEqual([409, "PAYLOAD_GONE"]);
  });

  it("replays a held one, which stays held until it is canceled", async () => {
    const held = await underWay("held");
    await operated.restart();
    operated.model.delayMs = 0;
    await operated.becomes(held, "held");
    const replayed = await operated.api("POST", `deliveries/${held}/replay`, { asAccepted: true });
    await operated.becomes((replayed.body["replay"] as { deliveryId: string }).deliveryId, "done");
    expect((await operated.delivery(held)).state).toBe("held");
    const canceled = await operated.api("POST", `deliveries/${held}/cancel`, {});
    expect(canceled.body).toEqual({ ok: true, id: held, outcome: "canceled", runs: 1 });
    expect((await operated.delivery(held)).state).toBe("canceled");
  });
});

describe("canceling", () => {
  it("ends a run in progress and one that waits behind it, and lets the next one start", async () => {
    const running = await underWay("first");
    const waiting = await operated.accept("build", { branch: "behind-it" });
    expect((await operated.api("POST", `deliveries/${waiting}/cancel`)).body).toMatchObject({ runs: 1 });
    const third = await operated.accept("build", { branch: "third" });
    operated.model.delayMs = 0;
    expect((await operated.api("POST", `deliveries/${running}/cancel`)).body).toMatchObject({ outcome: "canceled" });
    await operated.becomes(third, "done");
    for (const id of [running, waiting]) {
      const { state, reason } = await operated.delivery(id);
      expect([state, reason]).toEqual(["canceled", "canceled by the operator"]);
    }
    expect(operated.model.prompts.some((prompt) => prompt.includes("behind-it"))).toBe(false);
    const again = await operated.api("POST", `deliveries/${running}/cancel`);
    expect([again.status, again.body["error"]]).toEqual([
      409,
      "Nothing was done: it is canceled; nothing of it is left to cancel.",
    ]);
  });
});

describe("purging", () => {
  it("removes what has ended, and nothing that is open", async () => {
    const running = await underWay("kept");
    expect((await operated.api("DELETE", `deliveries/${running}`)).status).toBe(409);
    await operated.api("POST", `deliveries/${running}/cancel`);
    operated.model.delayMs = 0;
    await operated.becomes(await operated.accept("build", { branch: "newer" }), "done");
    const removed = await operated.api("DELETE", `deliveries/${running}`);
    expect([removed.status, removed.body]).toEqual([200, { ok: true, id: running, outcome: "removed" }]);
    expect((await operated.api("GET", `deliveries/${running}`)).status).toBe(404);
    expect((await operated.api("DELETE", `deliveries/${running}`)).status).toBe(404);
  });
});

describe("an operation in bulk", () => {
  it("is dry on request, takes the oldest first, and gives the outcome of each", async () => {
    const ids: string[] = [];
    for (const branch of ["bulk-1", "bulk-2", "bulk-3"]) ids.push(await operated.accept("build", { branch }));
    for (const id of ids) await operated.becomes(id, "done");
    const filter = { route: "build", text: "bulk-", since: "1h", state: "done" };
    const dry = await operated.api("POST", "deliveries/replay", { filter, dryRun: true });
    expect(dry.body).toMatchObject({ ok: true, dryRun: true, matched: 3, more: false, stopped: null });
    expect(items(dry).map(({ id, outcome }) => [id, outcome])).toEqual(ids.map((id) => [id, "planned"]));
    expect(dry.body["deliveries"]).toMatchObject([{ state: "done", route: "build", name: "CI" }, {}, {}]);
    const before = operated.model.prompts.length;

    const real = await operated.api("POST", "deliveries/replay", { filter, limit: 2 });
    expect(real.body).toMatchObject({ ok: true, dryRun: false, matched: 2, more: true });
    expect(items(real).map(({ id }) => id)).toEqual(ids.slice(1));
    for (const { replay } of items(real)) await operated.becomes(String(replay?.["deliveryId"]), "done");
    const prompts = operated.model.prompts.slice(before);
    expect(prompts.map((prompt) => /bulk-\d/u.exec(prompt)?.[0])).toEqual(["bulk-2", "bulk-3"]);
    const rest = await operated.api("POST", "deliveries/replay", { filter, limit: 2 });
    expect(rest.body).toMatchObject({ ok: true, more: false });
    expect(items(rest).filter(({ outcome }) => outcome === "replayed")).toMatchObject([{ id: ids[0] }]);
    expect(items(rest).find(({ id }) => id === ids[2])?.reason).toMatch(/^replayed as dlv_\w+ \(done\)$/u);
    await operated.becomes(String(items(rest).find(({ id }) => id === ids[0])?.replay?.["deliveryId"]), "done");
    const purged = await operated.api("POST", "deliveries/purge", { ids: ids.slice(0, 1) });
    expect(items(purged)).toMatchObject([{ id: ids[0], outcome: "removed" }]);
  });

  it("takes ids, and says of each whether it is missing or impossible", async () => {
    const done = await operated.accept("build", { branch: "named" });
    await operated.becomes(done, "done");
    const outcome = await operated.api("POST", "deliveries/cancel", { ids: [done, "dlv_nobody"] });
    expect(items(outcome)).toEqual([
      { id: "dlv_nobody", outcome: "unknown" },
      expect.objectContaining({ id: done, outcome: "left", reason: "it is done; nothing of it is left to cancel" }),
    ]);
  });

  it("says what today's configuration refuses, and stops where the queue is full", async () => {
    const ids: string[] = [];
    for (const branch of ["full-1", "full-2", "full-3"]) ids.push(await operated.accept("build", { branch }));
    for (const id of ids) await operated.becomes(id, "done");
    await operated.reload({ mappings: [] });
    const refused = await operated.api("POST", "deliveries/replay", { ids: ids.slice(0, 1) });
    expect(items(refused)).toMatchObject([{ outcome: "refused", code: "NOT_FOUND", error: expect.any(String) }]);
    await operated.reload({ mappings: [build], maxQueuedRuns: 2 });
    operated.model.delayMs = 600_000;
    const stopped = await operated.api("POST", "deliveries/replay", { ids });
    expect(stopped.body).toMatchObject({ ok: false, matched: 3, stopped: { code: "QUEUE_FULL" } });
    expect(items(stopped).map(({ outcome }) => outcome)).toEqual(["replayed", "replayed"]);
    const single = await operated.api("POST", `deliveries/${ids[2]}/replay`);
    expect([single.status, single.body["code"], single.headers.get("retry-after")]).toEqual([503, "QUEUE_FULL", "5"]);
    const canceled = await operated.api("POST", "deliveries/cancel", { filter: { text: "full-" } });
    expect(items(canceled).filter(({ outcome }) => outcome === "canceled")).toHaveLength(2);
    operated.model.delayMs = 0;
    await operated.reload({ mappings: [build], interrupted: "hold" });
  });

  it.each([
    ["purge", {}, "The body must have either filter, with at least one key, or ids."],
    ["purge", "", "The body must have either filter, with at least one key, or ids."],
    ["purge", { filter: {}, dryRun: true }, "filter"],
    ["purge", { filter: { state: "done" }, ids: ["dlv_1"] }, "either filter, with at least one key, or ids"],
    ["purge", { filter: { stat: "done" } }, 'filter.stat unknown key; did you mean "state"?'],
    ["purge", { filter: { state: "lost" } }, "state must be one of"],
    ["purge", { filter: { route: "" } }, "route must have 1 to 1024 characters."],
    ["purge", { filter: { since: "soon" } }, "since must be a time"],
    ["cancel", { filter: { route: "x" }, asAccepted: true }, "asAccepted unknown key"],
    ["replay", { ids: ["dlv_1"], limit: 3 }, "limit goes with filter"],
    ["replay", { ids: [] }, "ids is empty"],
    ["replay", { filter: { route: "x" }, limit: 10_001 }, "limit 10001 is more than 10000"],
    ["replay", "nothing", "The body must be JSON"],
    ["replay", JSON.stringify({ ids: ["x".repeat(70_000)] }), "The body must be JSON of at most 65536 bytes."],
    ["dlv_1/replay", { asaccepted: true }, 'asaccepted unknown key; did you mean "asAccepted"?'],
    ["dlv_1/cancel", { force: true }, "force unknown key"],
  ])("refuses %s of %j", async (path, body, error) => {
    const answer = await operated.api("POST", `deliveries/${path}`, body);
    expect([answer.status, answer.body["code"]]).toEqual([400, "INVALID_QUERY"]);
    expect(answer.body["error"]).toContain(error);
  });

  it("is reached with POST alone, and with the gateway token", async () => {
    for (const [path, allow] of [
      ["deliveries/replay", "POST"],
      ["deliveries/dlv_1/cancel", "POST"],
      ["deliveries/dlv_1", "GET, HEAD, DELETE"],
      ["deliveries/dlv_1/body", "GET, HEAD"],
    ] as const) {
      for (const method of ["PUT", "PATCH"]) {
        const answer = await operated.api(method, path, {});
        expect([answer.status, answer.headers.get("allow")]).toEqual([405, allow]);
      }
    }
    const url = `${operated.gateway.url}/api/v1/deliveries/purge`;
    expect((await fetch(url, { method: "POST", body: '{"filter":{"route":"x"}}' })).status).toBe(401);
    expect((await operated.api("POST", "deliveries/replay?dryRun=true", {})).status).toBe(400);
  });
});
