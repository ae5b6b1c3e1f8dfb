import { describe, expect, it } from "vitest";
import type { PresetSample } from "../../../../src/presets/preset.ts";
import { datadog } from "../../../../src/presets/senders/datadog.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

describe("the preset datadog", () => {
  itReadsSamples(datadog, {
    triggered: {
      event: "metric_alert_monitor.Triggered",
      deliveryId: "7301450000000000001",
      message: [
        "Datadog: [Triggered on {host:web-1}] CPU is high",
        "CPU of web-1 is above 90 %.",
        "",
        "@webhook-gateway",
        "Transition: Triggered",
        "Priority: P2",
        "Status: avg(last_5m):avg:system.cpu.user{host:web-1} > 90",
        "Scope: host:web-1",
        "Host: web-1",
        "Tags: env:production,team:web",
        "https://app.datadog.example.com/event/event?id=7301450000000000001",
      ],
    },
    recovered: {
      event: "metric_alert_monitor.Recovered",
      deliveryId: "7301450000000000002",
      message: [
        "Datadog: [Recovered on {host:web-1}] CPU is high",
        "CPU of web-1 is below 90 %.",
        "Transition: Recovered",
        "Scope: host:web-1",
        "https://app.datadog.example.com/event/event?id=7301450000000000002",
      ],
    },
    default: {
      event: "metric_alert_monitor",
      deliveryId: "7301450000000000003",
      message: ["Datadog: [Triggered] CPU is high", "CPU of web-1 is above 90 %."],
    },
  });

  it("takes the secret of the custom header, and no other", async () => {
    const secret = "an-invented-secret";
    const call = (value: string) => sampleCall(datadog, "triggered", () => ({ authorization: value }));
    expect(await verifyCall(datadog, call(`Bearer ${secret}`), { secrets: [secret] })).toMatchObject({ ok: true });
    expect(await verifyCall(datadog, call("Bearer another"), { secrets: [secret] })).toMatchObject({ ok: false });
  });

  it.each(["null", "None", "N/A", "$HOSTNAME", "$TAGS[env]", ""])(
    "says nothing of a variable without a value: %j",
    (host) => {
      const payload = { title: "T", body: host, host, user: host, link: host };
      expect(readSample(datadog, { payload })).toMatchObject({ message: "Datadog: T", sender: undefined });
    },
  );

  it.each(["null", "$ID", "N/A"])("takes no variable without a value for an id or an event: %j", (id) => {
    const payload = { title: "T", id, event_type: id, transition: id };
    expect(readSample(datadog, { payload })).toMatchObject({ event: undefined, deliveryId: undefined });
  });

  it("names the person whose comment is forwarded", () => {
    const payload = { title: "T", user: "Ada" };
    expect(readSample(datadog, { payload })).toMatchObject({
      sender: { name: "Ada", bot: false },
      message: "Datadog by Ada: T",
    });
  });

  it("reads the payload that is encoded as a form", () => {
    const { payload } = datadog.samples["recovered"]!;
    const form: PresetSample = { format: "form", payload };
    expect(readSample(datadog, form)).toEqual(readSample(datadog, datadog.samples["recovered"]!));
  });

  it("prints a payload to paste that is JSON with a variable for each key", () => {
    const [template] = datadog.setup.filter((step) => step.startsWith("Payload: "));
    const payload = JSON.parse(template!.slice("Payload: ".length)) as Record<string, string>;
    expect(Object.values(payload).every((value) => /^\$[A-Z_]+$/.test(value))).toBe(true);
    expect(Object.keys(payload)).toEqual(Object.keys(datadog.samples["triggered"]!.payload as object));
  });

  it("shows a payload of which it knows nothing as it is", () => {
    expect(readSample(datadog, { payload: { own: 1 } }).message).toBe('Datadog event\n{"own":1}');
  });
});
