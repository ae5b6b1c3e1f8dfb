import { describe, expect, it } from "vitest";
import { alertmanager } from "../../../../src/presets/senders/alertmanager.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

describe("the preset alertmanager", () => {
  itReadsSamples(alertmanager, {
    firing: {
      event: "firing",
      message: [
        "1 alert firing: HighCpu",
        "- Firing: HighCpu (instance=web-1:9100, severity=critical, job=node): CPU of web-1 is above 90 %",
        "It has been for ten minutes.",
        "Since: 2026-11-20T11:50:00Z",
        "Runbook: https://runbooks.example.com/high-cpu",
        "https://prometheus.example.com/graph?g0.expr=cpu",
        "Alertmanager: https://alertmanager.example.com",
      ],
    },
    resolved: {
      event: "resolved",
      message: [
        "1 alert resolved: HighCpu",
        "- Resolved: HighCpu (instance=web-1:9100, severity=critical, job=node): CPU of web-1 is above 90 %",
        "It has been for ten minutes.",
        "Since: 2026-11-20T11:50:00Z, until 2026-11-20T12:00:00Z",
        "Runbook: https://runbooks.example.com/high-cpu",
        "https://prometheus.example.com/graph?g0.expr=cpu",
        "Alertmanager: https://alertmanager.example.com",
      ],
    },
    watchdog: {
      event: "firing",
      skip: "an alert that always fires",
      message: [
        "1 alert firing: Watchdog",
        "- Firing: Watchdog (severity=none)",
        "Since: 2026-11-20T11:50:00Z",
        "https://prometheus.example.com/graph?g0.expr=cpu",
        "Alertmanager: https://alertmanager.example.com",
      ],
    },
  });

  it("takes the bearer token of the receiver, and no other", async () => {
    const secret = "an-invented-bearer-token";
    const call = (value: string) => sampleCall(alertmanager, "firing", () => ({ authorization: value }));
    const options = { secrets: [secret] };
    expect(await verifyCall(alertmanager, call(`Bearer ${secret}`), options)).toMatchObject({ ok: true });
    expect(await verifyCall(alertmanager, call(`Bearer ${secret}x`), options)).toMatchObject({ ok: false });
    expect(await verifyCall(alertmanager, call(secret), options)).toMatchObject({ ok: false });
  });

  it("names no delivery, so that a repeated notification is one again", () => {
    expect(alertmanager.deliveryIdSource).toBeUndefined();
  });

  it("skips a heartbeat only when it comes alone", () => {
    const alerts = [{ labels: { alertname: "Watchdog" } }, { labels: { alertname: "HighCpu" } }];
    expect(readSample(alertmanager, { payload: { alerts } }).skip).toBeUndefined();
    expect(readSample(alertmanager, { payload: { alerts: alerts.slice(0, 1) } }).skip).toBeDefined();
    expect(readSample(alertmanager, { payload: { alerts: [] } }).skip).toBeUndefined();
  });

  it("counts the alerts that it does not list", () => {
    const alerts = Array.from({ length: 12 }, (_, at) => ({ labels: { alertname: `A${at}` } }));
    const lines = readSample(alertmanager, { payload: { alerts } }).message.split("\n");
    expect(lines[0]).toBe("12 alerts firing");
    expect(lines.at(-1)).toBe("... and 2 more");
  });

  it("lists labels up to a limit", () => {
    const labels = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`l${at}`, at]));
    const { message } = readSample(alertmanager, { payload: { alerts: [{ labels: { alertname: "A", ...labels } }] } });
    expect(message).toContain("(l0=0, l1=1, l2=2, l3=3, l4=4, l5=5, l6=6, l7=7)");
  });

  it("shows a notification without alerts as it is", () => {
    expect(readSample(alertmanager, { payload: { status: "firing" } }).message).toBe(
      'Alerts firing\n{"status":"firing"}',
    );
  });
});
