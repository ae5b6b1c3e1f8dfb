import { createHash, createHmac } from "node:crypto";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { adyen } from "../../../src/presets/senders/adyen.ts";
import { signSample } from "../../../src/testing/preset-probe.ts";
import { RunningGateway } from "./running-gateway.ts";
import { call } from "./sender-calls.ts";

const SECRET = "an-invented-secret-of-these-tests";
const JSON_TYPE = { "content-type": "application/json" };

describe("a sender that signs otherwise than by an HMAC of the body", () => {
  it("is let in with a token over the digest of its body, once", async () => {
    await using gateway = await RunningGateway.start({ hooks: { presets: ["netlify"], netlify: { secret: SECRET } } });
    const body = JSON.stringify({ id: "1", state: "error", name: "acme-site" });
    const claims = { iss: "netlify", sha256: createHash("sha256").update(body).digest("hex") };
    const token = await new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(new TextEncoder().encode(SECRET));
    const headers = { ...JSON_TYPE, "x-webhook-signature": token };
    const first = await call(gateway, "/hooks/netlify", { headers, body });
    const copy = await call(gateway, "/hooks/netlify", { headers, body });
    expect([first.status, copy.status]).toEqual([200, 200]);
    expect(copy.body["deliveryId"]).toBe(first.body["deliveryId"]);
    expect((await call(gateway, "/hooks/netlify", { headers, body: `${body} ` })).status).toBe(401);
    expect((await gateway.deliveries()).filter(({ state }) => state !== "duplicate")).toHaveLength(1);
  });

  it("is answered [accepted] when each item is signed, also for a second time with another reason", async () => {
    const secret = "DFB1EB5485895CFA84146406857104ABB4CBCABDC8AAF103A624C8F6A3EAAB00";
    await using gateway = await RunningGateway.start({ hooks: { presets: ["adyen"], adyen: { secret } } });
    const signed = signSample(adyen, adyen.samples["CHARGEBACK"]!, { secrets: [secret], key: secret });
    const body = Buffer.from(signed.body).toString();
    const post = async (text: string) => call(gateway, "/hooks/adyen", { headers: JSON_TYPE, body: text });
    expect(await post(body)).toMatchObject({ status: 200, text: "[accepted]" });
    expect((await post(body.replace("Not Received", "Received"))).status).toBe(200);
    expect((await post(body.replace("order-1001", "order-1002"))).status).toBe(401);
    expect((await gateway.deliveries()).filter(({ state }) => state !== "duplicate")).toHaveLength(1);
  });

  it("has its challenge answered as text when it is signed, and becomes no delivery", async () => {
    await using gateway = await RunningGateway.start({ hooks: { presets: ["twitch"], twitch: { secret: SECRET } } });
    const body = JSON.stringify({
      challenge: "pogchamp-kappa-360noscope-vohiyo",
      subscription: { id: "1", status: "webhook_callback_verification_pending", type: "stream.online" },
    });
    const post = async (secret: string) => {
      const [id, time] = ["e76c6bd4", new Date().toISOString()];
      const signature = createHmac("sha256", secret)
        .update(id + time + body)
        .digest("hex");
      const headers = {
        ...JSON_TYPE,
        "twitch-eventsub-message-id": id,
        "twitch-eventsub-message-timestamp": time,
        "twitch-eventsub-message-signature": `sha256=${signature}`,
      };
      return call(gateway, "/hooks/twitch", { headers, body });
    };
    expect(await post(SECRET)).toMatchObject({ status: 200, text: "pogchamp-kappa-360noscope-vohiyo" });
    expect((await post("another-secret-of-these-tests")).status).toBe(401);
    expect(await gateway.deliveries()).toEqual([]);
  });
});
