import { describe, expect, it } from "vitest";
import { homeAssistant } from "../../../../src/presets/senders/home-assistant.ts";
import { receivedCall, readSample, signSample, verifyCall } from "../../../../src/testing/preset-probe.ts";

const SECRET = "invented-home-secret";
const sample = (name: string) => readSample(homeAssistant, homeAssistant.samples[name]!);
const read = (payload: unknown) => readSample(homeAssistant, { payload });

describe("the preset home-assistant", () => {
  it.each([
    ["state_changed", "state_changed", undefined],
    ["automation_triggered", "automation_triggered", { name: "ada", bot: false }],
    ["trigger", "state", undefined],
  ])("knows event and sender of the sample %s", (name, event, sender) => {
    expect(sample(name)).toMatchObject({ event, deliveryId: undefined, skip: undefined, answer: undefined });
    expect(sample(name).sender).toEqual(sender);
  });

  it("says what changed and how", () => {
    expect(sample("state_changed").message).toBe(
      "Home Assistant: state_changed, Cellar leak sensor\nEntity: binary_sensor.cellar_leak\nState: from off to on",
    );
    expect(sample("trigger").message).toBe(
      "Home Assistant: state, Freezer\nEntity: sensor.freezer_temperature\nState: from -18.5 °C to -9.0 °C",
    );
  });

  it("says what an automation has to say", () => {
    expect(sample("automation_triggered").message).toBe(
      [
        "Home Assistant: automation_triggered, Garage door open at night by ada",
        "Entity: automation.garage_door_open_at_night",
        "The garage door has been open for ten minutes.",
      ].join("\n"),
    );
    expect(read({ message: "Hello" }).message).toBe("Home Assistant\nHello");
  });

  it("adds the data that an automation sends along", () => {
    expect(read({ entity_id: "light.hall", state: "on", data: { brightness: 7 } }).message).toBe(
      "Home Assistant: light.hall\nState: to on\nbrightness: 7",
    );
  });

  it("gives anything else a generic message", () => {
    expect(read({ event: "tag_scanned", tag: "door" }).message).toBe(
      "Home Assistant: tag_scanned\nevent: tag_scanned\ntag: door",
    );
  });
});

describe("the secret of home-assistant", () => {
  const options = { secrets: [SECRET] };
  const call = () =>
    receivedCall(signSample(homeAssistant, homeAssistant.samples["trigger"]!, { key: SECRET, ...options }));

  it("is taken from the Authorization header", async () => {
    expect(call().headers["authorization"]).toBe(`Bearer ${SECRET}`);
    expect(await verifyCall(homeAssistant, call(), options)).toMatchObject({ ok: true });
  });

  it.each([undefined, "Bearer", `Basic ${SECRET}`, `Bearer ${SECRET}x`, SECRET.slice(1)])(
    "is refused as %s",
    async (value) => {
      const headers = { ...call().headers, authorization: value };
      expect(await verifyCall(homeAssistant, { ...call(), headers }, options)).toMatchObject({ ok: false });
    },
  );
});
