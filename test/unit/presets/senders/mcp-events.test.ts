import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { mcpEvents } from "../../../../src/presets/senders/mcp-events.ts";
import { NOW, readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { callOf, compile } from "../../auth/handshake/handshake-bench.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const SECRET = `whsec_${Buffer.alloc(32, 11).toString("base64")}`;

describe("the preset mcp-events", () => {
  itReadsSamples(mcpEvents, {
    "incident.created": {
      event: "incident.created",
      deliveryId: "evt_789",
      message: [
        "MCP event: incident.created",
        "incidentId: INC-1234",
        "title: The pool of connections is empty",
        "severity: P1",
        "At: 2026-11-20T11:59:58Z",
        "Id: evt_789",
      ],
    },
    gap: {
      deliveryId: "msg_gap_1",
      skip: 'it is the control message "gap"',
      message: ["MCP event: without a name"],
    },
    terminated: {
      deliveryId: "msg_terminated_1",
      skip: 'it is the control message "terminated"',
      message: ["MCP event: without a name"],
    },
  });

  it("knows an event by its own id, whatever the id of the message is", () => {
    const event = mcpEvents.samples["incident.created"]!;
    for (const id of ["evt_789", "msg_1", "msg_2"]) {
      const { deliveryId } = readSample(mcpEvents, { ...event, headers: { "webhook-id": id } });
      expect(deliveryId).toBe("evt_789");
    }
  });

  it("takes the signature of Standard Webhooks, also beside that of another secret", async () => {
    const sign = (secret: string, body: Uint8Array): string =>
      new Webhook(secret).sign("evt_789", new Date(NOW), Buffer.from(body).toString());
    const other = `whsec_${Buffer.alloc(32, 12).toString("base64")}`;
    const call = (signatures: (body: Uint8Array) => string) =>
      sampleCall(mcpEvents, "incident.created", (body) => ({
        "webhook-id": "evt_789",
        "webhook-timestamp": String(NOW / 1_000),
        "webhook-signature": signatures(body),
      }));
    const verify = (signatures: (body: Uint8Array) => string) =>
      verifyCall(mcpEvents, call(signatures), { secrets: [SECRET] });
    expect(await verify((body) => sign(SECRET, body))).toMatchObject({ ok: true });
    expect(await verify((body) => `${sign(other, body)} ${sign(SECRET, body)}`)).toMatchObject({ ok: true });
    expect(await verify((body) => sign(other, body))).toMatchObject({ ok: false });
  });

  it("gives a signed challenge back, and an unsigned one never", async () => {
    const handshakes = compile(mcpEvents.handshakes, { secrets: [SECRET] });
    const call = callOf({ json: { type: "verification", challenge: "nonce-4711" } });
    expect(handshakes.unverified(call)).toBeUndefined();
    const answered = await handshakes.verified(call);
    expect(answered?.answer).toMatchObject({ status: 200, payload: '{"challenge":"nonce-4711"}' });
    expect(handshakes.verified(callOf({ json: { type: "gap", cursor: "c" } }))).toBeUndefined();
  });
});
