/** Calls that arrive while the gateway shuts down are answered 503, and none is reset. */
import { Agent, request } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GatewayProcess, HOOK_TOKEN } from "./gateway-process.ts";

const CALLS = 400;
const CALLERS = 40;

let gateway: GatewayProcess;
beforeEach(async () => {
  gateway = new GatewayProcess({ hooks: { enabled: true, token: HOOK_TOKEN } });
  await gateway.start();
});
afterEach(() => gateway.close());

interface Outcome {
  /** The status, or the code of the error. */
  readonly is: number | string;
  readonly retryAfter?: string | undefined;
  readonly connection?: string | undefined;
}

/** One call on a connection of its own. */
function wake(text: string): Promise<Outcome> {
  return new Promise((resolve) => {
    const body = JSON.stringify({ text, mode: "next-heartbeat" });
    const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" };
    const agent = new Agent({ keepAlive: false });
    const call = request(`${gateway.url}/hooks/wake`, { method: "POST", headers, agent }, (response) => {
      response.resume();
      const { "retry-after": retryAfter, connection } = response.headers;
      response.once("end", () => resolve({ is: response.statusCode!, retryAfter, connection }));
    });
    call.once("error", (error) => resolve({ is: "code" in error ? String(error.code) : error.message }));
    call.end(body);
  });
}

describe("a gateway that gets SIGTERM in a burst of calls", () => {
  it("answers each call that reaches its port 200, or 503 with Retry-After, until the port is closed", async () => {
    const outcomes: Outcome[] = [];
    let isOver = false;
    const calling = Array.from({ length: CALLERS }, async (_, caller) => {
      // A caller ends when it is refused by the system: then the port is closed.
      for (let call = 0; call < CALLS && !isOver; call++) {
        const outcome = await wake(`${caller}-${call}`);
        if (outcome.is === "ECONNREFUSED") return;
        outcomes.push(outcome);
        if (outcome.is === 503) isOver = true;
        if (outcomes.length === CALLERS) void gateway.end("SIGTERM");
      }
    });
    await Promise.all(calling);
    await gateway.ended();
    expect(outcomes.filter(({ is }) => is !== 200 && is !== 503)).toEqual([]);
    const refused = outcomes.filter(({ is }) => is === 503);
    expect(refused.length).toBeGreaterThan(0);
    for (const { retryAfter, connection } of refused) {
      expect([Number(retryAfter) > 0, connection]).toEqual([true, "close"]);
    }
  });
});
