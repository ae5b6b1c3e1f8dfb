import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { GatewayPlugin } from "../../src/core/host.ts";
import type * as Guarded from "../../src/http/guarded-fetch.ts";
import { WebhookIngress } from "../../src/index.ts";
import { ScriptedCaller } from "./scripted-caller.ts";
import { StatesGateway } from "./states-gateway.ts";

vi.mock("../../src/dispatch/run/full-jitter.ts", () => import("./longest-delay.ts"));

const caller = vi.hoisted(() => ({ origin: "" }));

// The real thing, but for where names lead to: one to the receiver of these tests, the others to a private address.
vi.mock("../../src/http/guarded-fetch.ts", async (original) => {
  const real = await original<typeof Guarded>();
  const createGuardedFetch: typeof real.createGuardedFetch = (options) => {
    const resolve = async () => [{ address: "10.0.0.7", family: 4 }];
    const blocked = real.createGuardedFetch({ ...options, resolve });
    const local = real.createGuardedFetch({ ...options, allowLoopback: true });
    return (url, call) =>
      url.startsWith("https://ci.example.com/")
        ? local(url.replace("https://ci.example.com", caller.origin), call)
        : blocked(url, call);
  };
  return { ...real, createGuardedFetch };
});

const SECRET = `whsec_${Buffer.from("a-secret-of-the-callback-tests-1").toString("base64")}`;
const CI = "https://ci.example.com/done";
const QUIET = { message: "Hello.", deliver: false, wakeMode: "next-heartbeat", callbackUrl: CI };
const TOLD = { ...QUIET, deliver: true };
const MANY = { attempts: 20, backoffSeconds: 0.1, maxBackoffSeconds: 0.2 };
const LATER = { attempts: 2, backoffSeconds: 3_600, maxBackoffSeconds: 3_600 };

/** Gives a fallback to the calls that are named `Backed`, which no caller can. */
const backing: GatewayPlugin = {
  apply(host) {
    WebhookIngress.hooks(host).actions.tap("backing", (actions) =>
      actions.map((action) =>
        action.kind === "agent" && action.name === "Backed"
          ? { ...action, fallback: { channel: "console", to: undefined } }
          : action,
      ),
    );
  },
};

function hooksWith({ delivery = LATER, hosts = ["*.example.com"] }: { delivery?: object; hosts?: readonly string[] }) {
  return { callbacks: { hosts, secret: SECRET }, retry: { attempts: 1, delivery }, mappings: [] };
}

describe("each reason of a callback can be produced and seen through the API", () => {
  let receiver: ScriptedCaller;
  let states: StatesGateway;
  beforeAll(async () => {
    receiver = await ScriptedCaller.listen();
    caller.origin = receiver.origin;
    states = await StatesGateway.start({ hooks: hooksWith({}), plugins: [backing] });
  });
  afterEach(async () => {
    states.reset();
    receiver.status = 204;
    await use({});
  });
  afterAll(async () => {
    await states[Symbol.asyncDispose]();
    receiver.close();
  });

  async function use(changes: Parameters<typeof hooksWith>[0]): Promise<void> {
    states.gateway.writeHooks(hooksWith(changes));
    expect((await states.gateway.reload()).applied).toBe(true);
  }

  const sent = (changes: object = {}) => states.sent("agent", { ...QUIET, ...changes });

  it("none, when the caller was answered", async () => {
    expect((await states.onlyRun(await sent(), "done")).reason).toBeNull();
    expect(receiver.results.at(-1)).toMatchObject({ type: "run.settled", state: "done", error: null });
  });

  it("an address that is not public", async () => {
    const { reason } = await states.onlyRun(await sent({ callbackUrl: "https://inside.example.com/" }), "done");
    expect(reason).toBe("the callback to inside.example.com failed: its host has an address that is not public");
  });

  it.each([
    { status: 404, why: "it answers with status 404" },
    { status: 302, why: "it answers with a redirect (302)" },
  ])("status $status, which is final", async ({ status, why }) => {
    receiver.status = status;
    const { reason } = await states.onlyRun(await sent(), "done");
    expect(reason).toBe(`the callback to ci.example.com failed: ${why}`);
  });

  it("queued, while it is to be tried again", async () => {
    receiver.status = 503;
    const id = await sent();
    await vi.waitFor(async () => expect((await states.gateway.delivery(id)).reason).not.toBeNull(), SOON);
    const run = await states.onlyRun(id, "queued");
    expect(run).toMatchObject({ delivery: "none", attempts: [{ number: 1, status: "ok" }] });
    expect(run.reason).toBe(
      "the callback to ci.example.com failed at try 1 of 2, it is tried again: it answers with status 503",
    );
    await states.canceled(id);
  });

  it("the last try, which failed as well", async () => {
    receiver.status = 503;
    await use({ delivery: { ...MANY, attempts: 2 } });
    const { reason, attempts } = await states.onlyRun(await sent(), "done");
    expect(reason).toBe("the callback to ci.example.com failed: it answers with status 503");
    expect(attempts).toHaveLength(1);
  });

  it("a host that the configuration does not allow any more", async () => {
    const go = states.holdBack("Hello.");
    const id = await sent();
    await states.seen(id, "running");
    await use({ hosts: ["other.example.org"] });
    go();
    const { reason } = await states.onlyRun(id, "done");
    expect(reason).toBe("the callback was not sent: hooks.callbacks.hosts does not allow its host any more");
  });

  it("both that of the run and that of the callback, when neither went well", async () => {
    receiver.status = 410;
    states.answerWith({ status: 400 });
    const { reason } = await states.onlyRun(await sent(), "failed");
    expect(reason).toMatch(/^error: .*400.*; the callback to ci\.example\.com failed: it answers with status 410$/);
    expect(receiver.results.at(-1)).toMatchObject({
      state: "failed",
      code: "RUN_FAILED",
      error: "The agent's run failed.",
    });
  });

  describe("after a restart of a gateway that still owed the caller its callback: that of the reply, as far as it is known", () => {
    it.each([
      {
        how: "suppressed",
        call: TOLD,
        reply: "NO_REPLY",
        ended: { state: "done", delivery: "suppressed", reason: "not delivered: the reply is NO_REPLY" },
      },
      {
        how: "without a target",
        call: { ...TOLD, channel: "webhook" },
        reply: "Told.",
        ended: {
          state: "done",
          delivery: "no-target",
          reason: expect.stringMatching(/^not delivered: There is no recipient/),
        },
      },
      {
        how: "refused",
        call: { ...TOLD, channel: "webhook", to: "team" },
        reply: "Told.",
        ended: { state: "failed", delivery: "failed", reason: "the reply could not be delivered" },
      },
      {
        how: "sent to the fallback",
        call: { ...TOLD, channel: "webhook", to: "team", name: "Backed" },
        reply: "Told.",
        ended: { state: "done", delivery: "fallback", reason: "the reply was sent to the fallback" },
      },
      {
        how: "sent",
        call: { ...TOLD, channel: "console" },
        reply: "Told.",
        ended: { state: "done", delivery: "sent", reason: null },
      },
    ] as const)("$how", async ({ call, reply, ended }) => {
      await use({ delivery: MANY });
      receiver.status = 503;
      states.answerPostsWith(400);
      states.answerWith({ reply });
      const id = await sent(call);
      const isPostponed = async () => {
        expect((await states.gateway.delivery(id)).reason).toContain("the callback to ci.example.com failed at try");
      };
      await vi.waitFor(isPostponed, SOON);
      await states.gateway.stop();
      receiver.status = 204;
      await states.gateway.restart();
      expect(await states.onlyRun(id, ended.state)).toMatchObject({ ...ended, attempts: [{ number: 1 }] });
      expect(receiver.results.at(-1)).toMatchObject({ deliveryId: id, state: ended.state, delivery: ended.delivery });
    });
  });
});

/** For what happens by itself; how long it takes is no matter. */
const SOON = { timeout: 15_000, interval: 10 };
