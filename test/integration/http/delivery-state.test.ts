import { describe, expect, it } from "vitest";
import { AGENT_CALL } from "./modeled-gateway.ts";
import { AUTHORIZED, HOOK_TOKEN, RunningGateway } from "./running-gateway.ts";
import { startWith } from "./tapped-gateway.ts";

const OTHER_TOKEN = "another-token-of-the-state-tests";

interface Told {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

async function stateOf(gateway: RunningGateway, id: unknown, headers = [AUTHORIZED], method = "GET"): Promise<Told> {
  const answer = await gateway.send({ method, target: `/hooks/deliveries/${String(id)}`, headers });
  return { ...answer, body: answer.text === "" ? {} : (JSON.parse(answer.text) as Told["body"]) };
}

describe("GET deliveries/<id>", () => {
  it("shows a caller the state of its own delivery and of its runs, and nothing else", async () => {
    await using gateway = await RunningGateway.start();
    const { body } = await gateway.post("/hooks/agent", { ...AGENT_CALL, message: "a secret text" });
    await gateway.ended(body["deliveryId"]);
    const told = await stateOf(gateway, body["deliveryId"]);
    expect(told.status).toBe(200);
    expect(told.body).toEqual({
      ok: true,
      deliveryId: body["deliveryId"],
      state: "done",
      runs: [{ runId: body["runId"], state: "done" }],
    });
    expect(told.headers["cache-control"]).toBe("no-store");
  });

  it("answers a HEAD with the same head", async () => {
    await using gateway = await RunningGateway.start();
    const { body } = await gateway.post("/hooks/agent", AGENT_CALL);
    await gateway.ended(body["deliveryId"]);
    const [get, head] = [
      await stateOf(gateway, body["deliveryId"]),
      await stateOf(gateway, body["deliveryId"], undefined, "HEAD"),
    ];
    expect([head.status, head.headers["content-length"]]).toEqual([200, get.headers["content-length"]]);
    expect(head.body).toEqual({});
  });

  it("says the same of a delivery that came with another credential as of one that does not exist", async () => {
    await using gateway = await RunningGateway.start({ hooks: { token: [HOOK_TOKEN, OTHER_TOKEN] } });
    const { body } = await gateway.post("/hooks/agent", AGENT_CALL);
    const id = String(body["deliveryId"]);
    const foreign = await stateOf(gateway, id, [`Authorization: Bearer ${OTHER_TOKEN}`]);
    const unknown = await stateOf(gateway, `${id}x`);
    expect(foreign).toMatchObject({ status: 404, body: { ok: false, code: "DELIVERY_NOT_FOUND" } });
    expect(unknown.body).toEqual(foreign.body);
    for (const wrong of ["", "x", "%00", `${id}/`, `${id}/runs`, "a".repeat(5_000)]) {
      expect((await stateOf(gateway, wrong)).status).toBe(404);
    }
    expect((await stateOf(gateway, id)).status).toBe(200);
  });

  it("takes the hook token as every call does: 401 without, and an address that guesses is locked out", async () => {
    await using gateway = await RunningGateway.start({ hooks: { lockout: { failures: 2 } } });
    const { body } = await gateway.post("/hooks/agent", AGENT_CALL);
    const statuses: number[] = [];
    for (let guess = 0; guess < 4; guess++) {
      const { status } = await stateOf(gateway, body["deliveryId"], [`Authorization: Bearer guess-${guess}`]);
      statuses.push(status);
    }
    expect(statuses.slice(0, 2)).toEqual([401, 401]);
    expect(statuses.at(-1)).toBe(429);
    expect((await gateway.send({ method: "GET", target: "/hooks/deliveries/x?token=x" })).status).toBe(400);
    expect((await stateOf(gateway, body["deliveryId"])).status).toBe(200);
  });

  it("knows the deliveries of a caller that a plugin authenticates", async () => {
    await using gateway = await startWith((hooks) => {
      hooks.authenticate.tap("partner", ({ headers }) =>
        headers["x-partner"] === "7" ? { scheme: "partner", id: "partner-7" } : undefined,
      );
    });
    const partner = { authorization: "", "x-partner": "7" };
    const { body } = await gateway.post("/hooks/agent", AGENT_CALL, partner);
    expect((await stateOf(gateway, body["deliveryId"], ["X-Partner: 7"])).status).toBe(200);
    expect((await stateOf(gateway, body["deliveryId"])).status).toBe(404);
  });

  it("leaves calls below deliveries/ to mappings, and other methods refused", async () => {
    const mappings = [{ match: { path: "deliveries/in" }, messageTemplate: "x", deliver: false }];
    await using gateway = await RunningGateway.start({ hooks: { mappings } });
    expect((await gateway.post("/hooks/deliveries/in", {})).status).toBe(202);
    expect((await gateway.post("/hooks/deliveries/other", {})).status).toBe(404);
    for (const method of ["PUT", "DELETE", "PATCH"]) {
      expect((await stateOf(gateway, "in", [AUTHORIZED], method)).status).toBe(405);
    }
    expect((await gateway.send({ method: "GET", target: "/hooks/deliveries", headers: [AUTHORIZED] })).status).toBe(
      405,
    );
  });

  it("shows a delivery that was filtered or skipped, which has no runs", async () => {
    const mappings = [
      {
        match: { path: "in" },
        forEach: "items",
        messageTemplate: "x",
        respond: { status: 200, body: "{{deliveryId}}" },
      },
    ];
    await using gateway = await RunningGateway.start({ hooks: { mappings } });
    const answer = await gateway.send({ target: "/hooks/in", headers: [AUTHORIZED], body: '{"items":[]}' });
    expect((await stateOf(gateway, answer.text)).body).toEqual({
      ok: true,
      deliveryId: answer.text,
      state: "skipped",
      runs: [],
    });
  });
});
