import { describePreset } from "reveille/testing";
import { describe, expect, it } from "vitest";
import { samples } from "./swiftcrate-samples.ts";
import swiftcrate from "./swiftcrate.ts";

describePreset(swiftcrate);
describePreset(swiftcrate, { settings: { scans: true } });

/** A sample as the gateway hands it to the preset. */
function eventOf(name: keyof typeof samples, settings: Readonly<Record<string, unknown>> = {}) {
  const { payload } = samples[name];
  return { event: name, payload, settings, headers: {}, query: {}, path: "swiftcrate", now: new Date(0) };
}

describe("a message of Swiftcrate", () => {
  it("names the parcel and what happened to it", () => {
    expect(swiftcrate.message(eventOf("parcel.failed"))).toBe(
      [
        "Parcel SC-4821-0077 could not be delivered.",
        "From: Corner shop",
        "To: Ada Park, Elm Street 4",
        "Reason: Nobody was at home.",
        "https://swiftcrate.example.com/track/SC-4821-0077",
      ].join("\n"),
    );
  });

  it("reports an event that is not known yet", () => {
    expect(swiftcrate.message({ ...eventOf("parcel.failed"), event: "parcel.lost" })).toContain(
      "Parcel SC-4821-0077 has news.",
    );
  });

  it("ignores a ping, and scans unless they are wanted", () => {
    expect(swiftcrate.skip(eventOf("ping"))).toBe("a ping of Swiftcrate");
    expect(swiftcrate.skip(eventOf("parcel.scanned"))).toContain("hooks.swiftcrate.scans");
    expect(swiftcrate.skip(eventOf("parcel.scanned", { scans: true }))).toBeUndefined();
    expect(swiftcrate.skip(eventOf("parcel.delivered"))).toBeUndefined();
  });
});
