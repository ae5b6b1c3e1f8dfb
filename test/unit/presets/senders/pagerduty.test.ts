import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { pagerduty } from "../../../../src/presets/senders/pagerduty.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

describe("the preset pagerduty", () => {
  itReadsSamples(pagerduty, {
    triggered: {
      event: "incident.triggered",
      deliveryId: "01BBYA9R0000000000000000A1",
      sender: { name: "Monitoring", bot: false },
      message: [
        "Incident #2 of Database was triggered by Monitoring: Disk of db-1 is nearly full",
        "Urgency: high",
        "Priority: P1",
        "Assigned to: Ada Lund",
        "https://acme.pagerduty.example.com/incidents/PGR0VU2",
      ],
    },
    acknowledged: {
      event: "incident.acknowledged",
      deliveryId: "01BBYA9R0000000000000000A2",
      sender: { name: "Ada Lund", id: "PTUXL6G", bot: false },
      message: [
        "Incident #2 of Database was acknowledged by Ada Lund: Disk of db-1 is nearly full",
        "Urgency: high",
        "Priority: P1",
        "Assigned to: Ada Lund",
        "https://acme.pagerduty.example.com/incidents/PGR0VU2",
      ],
    },
    annotated: {
      event: "incident.annotated",
      deliveryId: "01BBYA9R0000000000000000A3",
      sender: { name: "Ada Lund", id: "PTUXL6G", bot: false },
      message: [
        "Incident annotated by Ada Lund: Disk of db-1 is nearly full",
        "Old backups fill the disk.",
        "https://acme.pagerduty.example.com/incidents/PGR0VU2",
      ],
    },
    ping: {
      event: "pagey.ping",
      deliveryId: "01BBYA9R0000000000000000A4",
      skip: "a ping, by which PagerDuty tries the webhook",
      message: ["Pagey ping", "Hello from Pagey"],
    },
  });

  it("takes any of several signatures while a secret is changed", async () => {
    const secret = "an-invented-secret";
    const sign = (body: Uint8Array) => `v1=${createHmac("sha256", secret).update(body).digest("hex")}`;
    const call = (write: (signature: string) => string) =>
      sampleCall(pagerduty, "triggered", (body) => ({ "x-pagerduty-signature": write(sign(body)) }));
    const options = { secrets: [secret] };
    const other = `v1=${"0".repeat(64)}`;
    expect(
      await verifyCall(
        pagerduty,
        call((signature) => signature),
        options,
      ),
    ).toMatchObject({ ok: true });
    expect(
      await verifyCall(
        pagerduty,
        call((signature) => `${other},${signature}`),
        options,
      ),
    ).toMatchObject({ ok: true });
    expect(
      await verifyCall(
        pagerduty,
        call((signature) => signature.replace("v1", "v2")),
        options,
      ),
    ).toMatchObject({ ok: false });
    expect(
      await verifyCall(
        pagerduty,
        call(() => `${other},${other}`),
        options,
      ),
    ).toMatchObject({ ok: false });
  });

  it("trusts the id, since it is in the signed body", () => {
    expect(pagerduty.deliveryIdSigned).toBe(true);
  });

  it.each<[object, readonly string[]]>([
    [
      {
        event_type: "incident.resolved",
        data: { number: 2, title: "T", teams: [{ summary: "Web" }, {}], resolve_reason: { type: "merged" } },
      },
      ["Incident #2 was resolved by Ada: T", "Teams: Web", "Reason: merged"],
    ],
    [
      {
        event_type: "incident.responder.added",
        data: { incident: { summary: "T" }, user: { summary: "Ben" }, message: "Please help" },
      },
      ["Incident responder added by Ada: T", "Responder: Ben", "Please help"],
    ],
    [
      { event_type: "service.created", data: { summary: "Web", html_url: "https://p.example.com/s" } },
      ["Service created by Ada: Web", "https://p.example.com/s"],
    ],
    [{ data: { odd: 1 } }, ["PagerDuty event by Ada", '{"odd":1}']],
  ])("says of %j what happened", (event, lines) => {
    const payload = { event: { ...event, agent: { summary: "Ada" } } };
    expect(readSample(pagerduty, { payload }).message).toBe(lines.join("\n"));
  });
});
