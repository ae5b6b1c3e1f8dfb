import { describe, expect, it } from "vitest";
import { FIRST, secretOf, SubscribedGateway, upTo } from "./subscribed-gateway.ts";

const SECOND = secretOf("the-second-of-three-secrets");
const THIRD = secretOf("the-third-of-three-secrets");

describe("a subscription by webhook", () => {
  it.each(["draft", "final"] as const)(
    "takes each event once, as the dialect %s numbers its messages",
    async (dialect) => {
      const subscribed = await SubscribedGateway.start({}, { dialect });
      const { source } = subscribed;
      await subscribed.untilActive("webhook");
      source.copies = 2;
      source.emit(20);
      await subscribed.untilTaken(20);
      expect(await subscribed.numbers()).toEqual(upTo(20));
      expect(new Set(source.answers)).toEqual(new Set([200]));
    },
  );

  it("loses and doubles none of 1,000 events over restarts, a rotation and revoked secrets", async () => {
    const subscribed = await SubscribedGateway.start({}, { ttlMs: 1_500 });
    const { source } = subscribed;
    await subscribed.untilActive("webhook");

    // The server restarts and has forgotten the subscription: the next refresh makes it again, from the cursor on.
    source.emit(200);
    await subscribed.untilTaken(200);
    await source.stop();
    source.emit(100);
    await source.start();
    await subscribed.untilTaken(300);

    // The gateway restarts while events come.
    source.emit(100);
    await subscribed.gateway.stop();
    source.emit(100);
    await subscribed.run();
    await subscribed.untilTaken(500);

    // A rotation: the server signs with both until the old secret is gone.
    source.emit(100);
    await subscribed.reload({ secret: [SECOND, FIRST] });
    source.emit(50);
    await expect.poll(() => [...source.subscriptions.values()][0]?.secrets[0]).toBe(SECOND);
    source.emit(50);
    await subscribed.untilTaken(700);
    await subscribed.reload({ secret: SECOND });

    // The secret is revoked at once: what the server signs with it is refused, until it has the next one.
    source.emit(50);
    await subscribed.reload({ secret: THIRD });
    source.emit(50);
    await subscribed.untilTaken(800);

    // The server revokes the token: it ends the subscription, and takes no other until it gets another token.
    source.token = "another-token-of-the-mcp-server";
    await source.terminate();
    await expect
      .poll(() => subscribed.state())
      .toMatchObject({ state: "failing", problem: expect.stringContaining("401") as string });
    expect(await subscribed.outages()).toContain("subscription:incidents");
    source.emit(100);
    await subscribed.reload({ secret: THIRD, token: source.token });
    await subscribed.untilActive("webhook");
    source.emit(100);
    await subscribed.untilTaken(1_000);
    expect(await subscribed.outages()).toEqual([]);

    expect((await subscribed.numbers()).toSorted((one, other) => one - other)).toEqual(upTo(1_000));
    const controls = (await subscribed.deliveries()).filter(({ event }) => event === null);
    expect(controls).toMatchObject([{ state: "filtered", reason: expect.stringContaining('"terminated"') as string }]);
  }, 180_000);

  it("goes on after a gap, and the owner learns of it", async () => {
    const subscribed = await SubscribedGateway.start({}, { ttlMs: 3_600_000 });
    const { source } = subscribed;
    await subscribed.untilActive("webhook");
    source.emit(3);
    await subscribed.untilTaken(3);
    source.gatewayUrl = "";
    source.emit(2);
    source.gatewayUrl = subscribed.gateway.url;
    await source.gap();
    await expect.poll(() => subscribed.outages()).toEqual(["subscription:incidents:gap"]);
    source.emit(1);
    await expect.poll(async () => (await subscribed.numbers()).at(-1)).toBe(6);
    // The server forgets it; the subscription goes on where the gap has ended.
    await source.stop();
    source.emit(1);
    await source.start();
    await subscribed.gateway.stop();
    await subscribed.run();
    await expect.poll(async () => (await subscribed.numbers()).at(-1)).toBe(7);
    expect(source.requests.findLast(({ method }) => method === "events/subscribe")?.params["cursor"]).toMatch(
      /^c[56]$/u,
    );
  });

  it("is told of by the status, and not by its token or its secret", async () => {
    const subscribed = await SubscribedGateway.start();
    await subscribed.untilActive("webhook");
    const state = await subscribed.state();
    expect(state).toMatchObject({
      name: "incidents",
      server: new URL(subscribed.source.url).origin,
      event: "incident.created",
      mapping: "incidents",
      problem: null,
    });
    expect(JSON.stringify(state)).not.toContain(subscribed.source.token);
    expect(subscribed.fixture.logger.lines.filter((line) => JSON.stringify(line).includes(FIRST))).toEqual([]);
  });

  it("ends at its server when the owner takes it away", async () => {
    const subscribed = await SubscribedGateway.start();
    await subscribed.untilActive("webhook");
    expect(subscribed.source.subscriptions.size).toBe(1);
    await subscribed.reload({ hooks: { subscriptions: {} } });
    await expect.poll(() => subscribed.source.subscriptions.size).toBe(0);
    expect(await subscribed.state()).toBeUndefined();
  });

  it("whose token is missing is set aside alone, with a warning that names it", async () => {
    const subscribed = await SubscribedGateway.start({ token: { env: "NO_SUCH_TOKEN" } });
    expect(await subscribed.state()).toMatchObject({
      state: "set aside",
      problem: "hooks.subscriptions.incidents.server.token: the environment variable NO_SUCH_TOKEN is not set",
    });
    expect(JSON.stringify(subscribed.fixture.logger.lines)).toContain("this subscription is set aside");
    await subscribed.reload({});
    await subscribed.untilActive("webhook");
  });
});
