import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { grafana } from "../../../../src/presets/senders/grafana.ts";
import { NOW, readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { itTakesTheHmac } from "../it-takes-the-hmac.ts";
import { sampleCall } from "../sample-call.ts";

describe("the preset grafana", () => {
  itReadsSamples(grafana, {
    firing: {
      event: "firing",
      message: [
        "Grafana: 1 alert firing: [FIRING:1] High latency App (critical)",
        "- Firing: High latency (grafana_folder=App, severity=critical): Half of the requests take longer than 2 s",
        "Value: [ var='B' labels={} value=2.31 ]",
        "Since: 2026-11-20T11:50:00Z",
        "https://grafana.example.com/d/abc123?viewPanel=4",
      ],
    },
    resolved: {
      event: "resolved",
      message: [
        "Grafana: 1 alert resolved: [RESOLVED] High latency App (critical)",
        "- Resolved: High latency (grafana_folder=App, severity=critical): Half of the requests take longer than 2 s",
        "Since: 2026-11-20T11:50:00Z, until 2026-11-20T12:00:00Z",
        "https://grafana.example.com/d/abc123?viewPanel=4",
      ],
    },
    test: {
      event: "firing",
      skip: "a test of the contact point",
      message: [
        "Grafana: 1 alert firing: [FIRING:1] TestAlert Grafana",
        "- Firing: TestAlert (instance=Grafana): Notification test",
        "Value: [ var='B' labels={} value=2.31 ]",
        "Since: 2026-11-20T11:50:00Z",
        "https://grafana.example.com/d/abc123?viewPanel=4",
      ],
    },
  });

  itTakesTheHmac(grafana, "firing", "x-grafana-alerting-signature", (mac) => mac.digest("hex"));

  it("has the time signed too where the contact point names a header for it", async () => {
    const secret = "an-invented-secret";
    const settings = { timestampHeader: "X-Signed-At", signatureHeader: "X-Signed" };
    const call = (at: number) => {
      const time = String(at / 1_000);
      return sampleCall(grafana, "firing", (body) => ({
        "x-signed-at": time,
        "x-signed": createHmac("sha256", secret).update(`${time}:`).update(body).digest("hex"),
      }));
    };
    const options = { secrets: [secret], settings };
    expect(await verifyCall(grafana, call(NOW), options)).toMatchObject({ ok: true });
    expect(await verifyCall(grafana, call(NOW - 301_000), options)).toMatchObject({ ok: false });
    const untimed = sampleCall(grafana, "firing", (body) => ({
      "x-signed-at": String(NOW / 1_000),
      "x-signed": createHmac("sha256", secret).update(body).digest("hex"),
    }));
    expect(await verifyCall(grafana, untimed, options)).toMatchObject({ ok: false });
  });

  it("lets the same notification come again after a minute, since Grafana repeats it word for word", () => {
    expect(grafana.auth({})).toMatchObject({ replaySeconds: 60 });
    expect(grafana.auth({ timestampHeader: "X-Signed-At" })).not.toHaveProperty("replaySeconds");
  });

  it("takes what is posted with PUT", () => {
    expect(grafana.methods).toEqual(["PUT"]);
  });

  it.each<[object, readonly string[]]>([
    [{ title: "T", message: "Own template" }, ["Grafana notification: T", "Own template"]],
    [{ custom: 1 }, ["Grafana notification", '{"custom":1}']],
    [
      {
        truncatedAlerts: 2,
        alerts: [{ labels: { alertname: "A", b: 1 }, values: { B: 2, C: null } }, { status: "resolved" }],
      },
      [
        "Grafana: 1 alert firing, 1 resolved",
        "- Firing: A (b=1)",
        "Value: B=2, C",
        "- Resolved: alert",
        "(2 alerts left out by the sender)",
      ],
    ],
  ])("says of %j what is the matter", (payload, lines) => {
    expect(readSample(grafana, { payload }).message).toBe(lines.join("\n"));
  });

  it("skips a test only of Grafana itself", () => {
    const payload = { alerts: [{ labels: { alertname: "TestAlert", instance: "web-1" } }] };
    expect(readSample(grafana, { payload }).skip).toBeUndefined();
  });
});
