import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GatewayPlugin } from "../../src/core/host.ts";
import { WebhookIngress } from "../../src/index.ts";
import { call, github, GITHUB_SECRET, hmac, pushOf } from "./http/sender-calls.ts";
import { StatesGateway } from "./states-gateway.ts";

/** Leaves nothing to do of what a caller calls `Nothing`. */
const taker: GatewayPlugin = {
  apply(host) {
    WebhookIngress.hooks(host).actions.tap("taker", (actions) => actions.filter(({ name }) => name !== "Nothing"));
  },
};

describe("each reason of a call that makes no run can be produced and seen through the API", () => {
  let states: StatesGateway;
  beforeAll(async () => {
    states = await StatesGateway.start({ plugins: [taker] });
  });
  afterAll(() => states[Symbol.asyncDispose]());

  /** Why a call that is taken was filtered. */
  async function filteredOn(path: string, payload: object): Promise<string | null> {
    return (await states.seen(await states.sent(path, payload), "filtered")).reason;
  }

  /** Why a signed call ended, which is answered 200 or 204 in any case. */
  async function ofSigned(path: string, options: { body?: string; event?: string } = {}): Promise<unknown> {
    const { body = pushOf("site"), event = "push" } = options;
    const { status } = await github(states.gateway, body, { path: `/hooks/${path}`, event });
    expect([200, 204]).toContain(status);
    const { id, state } = await states.newest();
    const { reason, runs } = await states.seen(id, state);
    expect(runs).toEqual([]);
    return { state, reason };
  }

  describe("filtered", () => {
    it("as a ping, by which the sender tries the hook", async () => {
      const ended = await ofSigned("repository", { body: JSON.stringify({ zen: "Keep it simple." }), event: "ping" });
      expect(ended).toEqual({ state: "filtered", reason: "a ping, by which GitHub tries the webhook" });
    });

    it("because it comes from a source that no mapping of the path takes", async () => {
      const reason = "no mapping of this path takes the payload's source";
      expect(await ofSigned("sourced")).toEqual({ state: "filtered", reason });
    });

    it("because its event is not known", async () => {
      const body = pushOf("nameless");
      const headers = {
        "content-type": "application/json",
        "x-hub-signature-256": `sha256=${hmac(GITHUB_SECRET, body)}`,
      };
      const { body: answer } = await call(states.gateway, "/hooks/repository", { headers, body });
      const { reason } = await states.seen(answer["deliveryId"], "filtered");
      expect(reason).toBe("events: the request's event is not known");
    });

    it("by the number of who sent it, which stays when the name changes", async () => {
      const body = JSON.stringify({ ref: "refs/heads/main", sender: { login: "renamed", type: "User", id: 4_242 } });
      const reason = 'ignoreActors: "4242" is the actor "renamed"';
      expect(await ofSigned("repository", { body })).toEqual({ state: "filtered", reason });
      expect((await states.newest()).actor).toBe("renamed");
    });

    it.each([
      { value: 7, kind: "a number" },
      { value: "yes", kind: "a text" },
      { value: [1], kind: "a list" },
      { value: { a: 1 }, kind: "an object" },
      { value: null, kind: "null" },
    ])("by a condition that is $kind and no boolean", async ({ value, kind }) => {
      const reason = await filteredOn("field", { value });
      expect(reason).toContain(`when: payload.value is neither true nor false but ${kind}; payload.value = `);
    });

    it("by a condition that takes too much work for the payload", async () => {
      const reason = await filteredOn("costly", { items: Array.from({ length: 3_000 }, (_, at) => at) });
      expect(reason).toMatch(/^when: payload\.items\.all.* cannot be evaluated: .*too much work/);
      await states.seen(await states.sent("costly", { items: [1, 2] }), "done");
    });
  });

  describe("skipped", () => {
    it("because a plugin left no action", async () => {
      const payload = { message: "Anything.", name: "Nothing", deliver: false, wakeMode: "next-heartbeat" };
      expect((await states.gateway.post("/hooks/agent", payload)).status).toBe(204);
      const { id } = await states.newest();
      expect((await states.seen(id, "skipped")).reason).toBe("a plugin left no action");
    });

    it("because the mapping makes nothing of what a sender has signed", async () => {
      const reason = 'The mapping "blank" requires a message, and it came out blank for this payload.';
      expect(await ofSigned("blank")).toEqual({ state: "skipped", reason });
    });

    it("because a field that the mapping goes through is no array in what a sender has signed", async () => {
      const body = JSON.stringify({ ...(JSON.parse(pushOf("site")) as object), commits: "none" });
      const reason = "payload.commits must be an array.";
      expect(await ofSigned("commits", { body })).toEqual({ state: "skipped", reason });
    });
  });
});
