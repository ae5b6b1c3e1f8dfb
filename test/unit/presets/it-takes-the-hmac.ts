import { createHmac } from "node:crypto";
import type { Hmac } from "node:crypto";
import { expect, it } from "vitest";
import type { Preset } from "../../../src/presets/preset.ts";
import { verifyCall } from "../../../src/testing/preset-probe.ts";
import { sampleCall } from "./sample-call.ts";

const SECRET = "an-invented-secret-of-acme";

/** One test: the HMAC-SHA256 of the body is taken in this header, and nothing that only looks like it. */
export function itTakesTheHmac(preset: Preset, name: string, header: string, write: (mac: Hmac) => string): void {
  it("takes the HMAC-SHA256 of the body, and nothing that only looks like it", async () => {
    const signature = (body: Uint8Array, secret = SECRET) => write(createHmac("sha256", secret).update(body));
    const call = sampleCall(preset, name, (body) => ({ [header]: signature(body) }));
    const verify = async (changes: Parameters<typeof verifyCall>[1]) =>
      (await verifyCall(preset, changes, { secrets: [SECRET] })).ok;
    const written = signature(call.body);

    expect(await verify(call)).toBe(true);
    expect(await verify({ ...call, body: Buffer.concat([call.body, Buffer.from(" ")]) })).toBe(false);
    const wrong = [signature(call.body, "another-secret-of-acme"), written.slice(0, -2), `${written},${written}`, ""];
    for (const value of wrong) {
      expect(await verify({ ...call, headers: { ...call.headers, [header]: value } })).toBe(false);
    }
    const headers = Object.fromEntries(Object.entries(call.headers).filter(([key]) => key !== header));
    expect(await verify({ ...call, headers })).toBe(false);
  });
}
