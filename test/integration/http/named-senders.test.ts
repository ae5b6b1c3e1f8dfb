/** Several webhooks of one preset, `hooks.senders.<name>`, each with its own path, secret and settings. */
import { describe, expect, it } from "vitest";
import { RunningGateway } from "./running-gateway.ts";
import { call, github, hmac, pushOf, type SenderAnswer } from "./sender-calls.ts";

const QUIET = { deliver: false, wakeMode: "next-heartbeat" };
const ONE = "whsec_secret-of-the-first-account-7d2f";
const TWO = "whsec_secret-of-the-second-account-91c";

function stripe(gateway: RunningGateway, path: string, secret: string, id = "evt_same"): Promise<SenderAnswer> {
  const body = JSON.stringify({ id, object: "event", type: "customer.created", data: { object: { id: "cus_1" } } });
  const time = Math.floor(Date.now() / 1_000);
  const headers = { "stripe-signature": `t=${time},v1=${hmac(secret, `${time}.${body}`)}` };
  return call(gateway, path, { headers: { "content-type": "application/json", ...headers }, body });
}

const startedBy = async (gateway: RunningGateway, { body }: SenderAnswer): Promise<unknown> =>
  (await gateway.delivery(body["deliveryId"])).mappingId;

describe("named senders", () => {
  it("keep two Stripe accounts apart: secrets, and delivery ids that are the same", async () => {
    const senders = {
      "stripe-eu": { preset: "stripe", secret: ONE, ...QUIET },
      "stripe-us": { preset: "stripe", secret: TWO, path: "billing/us", ...QUIET },
    };
    await using gateway = await RunningGateway.start({ hooks: { senders } });
    const eu = await stripe(gateway, "/hooks/stripe-eu", ONE);
    const us = await stripe(gateway, "/hooks/billing/us", TWO);
    expect([eu.body["ok"], us.body["ok"]]).toEqual([true, true]);
    expect([await startedBy(gateway, eu), await startedBy(gateway, us)]).toEqual(["stripe-eu", "stripe-us"]);
    expect((await stripe(gateway, "/hooks/stripe-eu", TWO)).status).toBe(401);
    expect((await stripe(gateway, "/hooks/billing/us", ONE)).status).toBe(401);
    expect((await stripe(gateway, "/hooks/stripe", ONE)).status).toBe(401);
    // The same event of the same account is a repeat.
    await stripe(gateway, "/hooks/stripe-eu", ONE);
    const states = (await gateway.deliveries()).map(({ route, state }) => `${route} ${state === "duplicate"}`);
    expect(states.toSorted()).toEqual(["billing/us false", "stripe-eu false", "stripe-eu true"]);
  });

  it("keep two GitHub organizations and the short form apart, each with settings of its own", async () => {
    const secrets = ["secret-of-the-organization-one-51", "secret-of-the-organization-two-52"] as const;
    const hooks = {
      presets: ["github"],
      github: { secret: "secret-of-the-short-form-of-github", ...QUIET },
      senders: {
        "org-one": { preset: "github", secret: secrets[0], events: ["push"], ...QUIET },
        "org-two": { preset: "github", secret: secrets[1], events: ["issues.*"], ...QUIET },
      },
    };
    await using gateway = await RunningGateway.start({ hooks });
    const body = pushOf("site");
    const one = await github(gateway, body, { path: "/hooks/org-one", secret: secrets[0] });
    const two = await github(gateway, body, { path: "/hooks/org-two", secret: secrets[1] });
    const short = await github(gateway, body, { secret: hooks.github.secret });
    expect(await startedBy(gateway, one)).toBe("org-one");
    expect(await startedBy(gateway, short)).toBe("github");
    expect(two.body["runId"]).toBeUndefined();
    expect((await github(gateway, body, { path: "/hooks/org-two", secret: secrets[0] })).status).toBe(401);
    expect((await github(gateway, body, { path: "/hooks/org-one", secret: hooks.github.secret })).status).toBe(401);
    const senders = gateway.logger.lines.flatMap(({ fields }) => ("sender" in fields ? [fields.sender] : []));
    expect(new Set(senders)).toEqual(new Set(["github", "org-one", "org-two"]));
  });

  it("take the key of each Asana project by its own handshake", async () => {
    const senders = {
      "asana-site": { preset: "asana", ...QUIET },
      "asana-shop": { preset: "asana", ...QUIET },
    };
    await using gateway = await RunningGateway.start({ hooks: { senders } });
    const keys = { "asana-site": "5".repeat(31) + "site1", "asana-shop": "7".repeat(31) + "shop1" };
    for (const [name, key] of Object.entries(keys)) {
      const answer = await call(gateway, `/hooks/${name}`, { headers: { "x-hook-secret": key } });
      expect([answer.status, answer.headers.get("x-hook-secret")]).toEqual([200, key]);
    }
    const body = JSON.stringify({
      events: [{ action: "changed", resource: { gid: "12", resource_type: "task" }, user: { gid: "3" } }],
    });
    const send = (name: string, key: string): Promise<SenderAnswer> =>
      call(gateway, `/hooks/${name}`, {
        headers: { "content-type": "application/json", "x-hook-signature": hmac(key, body) },
        body,
      });
    for (const [name, key] of Object.entries(keys)) expect((await send(name, key)).status).toBe(200);
    expect((await send("asana-site", keys["asana-shop"])).status).toBe(401);
    expect((await gateway.deliveries()).map(({ mappingId }) => String(mappingId)).toSorted()).toEqual([
      "asana-shop",
      "asana-site",
    ]);
  });
});
