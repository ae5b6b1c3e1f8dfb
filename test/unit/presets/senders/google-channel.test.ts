import { describe, expect, it } from "vitest";
import { parsePayload } from "../../../../src/http/parse-payload.ts";
import { googleCalendar } from "../../../../src/presets/senders/google/google-calendar.ts";
import { googleDrive } from "../../../../src/presets/senders/google/google-drive.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const TOKEN = "an-invented-token-of-a-channel";
const CHANNEL = "01234567-89ab-4def-8123-456789abcdef";
const ENDS = ["Channel: 01234567-89ab-4def-8123-456789abcdef", "The channel ends: Fri, 27 Nov 2026 12:00:00 GMT"];
const skip = "Google says that the channel exists now";

describe("the preset google-calendar", () => {
  const message = [
    "Google Calendar: something changed in ada@example.com",
    "Resource: https://www.googleapis.com/calendar/v3/calendars/ada%40example.com/events?alt=json",
    ...ENDS,
    "What changed is in the Calendar API: list the resource with the sync token of the last time.",
  ];
  itReadsSamples(googleCalendar, {
    exists: { event: "exists", deliveryId: `${CHANNEL}.10`, message },
    sync: { event: "sync", deliveryId: `${CHANNEL}.1`, skip, message },
  });
});

describe("the preset google-drive", () => {
  const resource = "https://www.googleapis.com/drive/v3/files/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms?alt=json";
  const file = "Google Drive: the file 1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms";
  itReadsSamples(googleDrive, {
    update: {
      event: "update",
      deliveryId: `${CHANNEL}.10`,
      message: [
        `${file} was changed`,
        "Changed: content,properties",
        `Resource: ${resource}`,
        ...ENDS,
        "What changed is in the Drive API: files.get of this resource.",
      ],
    },
    change: {
      event: "change",
      deliveryId: `${CHANNEL}.10`,
      message: [
        "Google Drive: something changed",
        "Resource: https://www.googleapis.com/drive/v3/changes?pageToken=4711&alt=json",
        ...ENDS,
        "What changed is in the Drive API: changes.list of this resource.",
      ],
    },
    sync: {
      event: "sync",
      deliveryId: `${CHANNEL}.1`,
      skip,
      message: [
        `${file} changed`,
        `Resource: ${resource}`,
        ...ENDS,
        "What changed is in the Drive API: files.get of this resource.",
      ],
    },
  });

  it("reads a path that is not encoded as it should be", () => {
    const headers = { "x-goog-resource-uri": "https://www.googleapis.com/drive/v3/files/%E2%x" };
    expect(readSample(googleDrive, { headers, payload: {} }).message).toContain("the file %E2%x changed");
  });
});

describe.each([googleCalendar, googleDrive])("a call of $name", (preset) => {
  it("carries the token of its channel, and its body is empty", async () => {
    const call = { ...sampleCall(preset, Object.keys(preset.samples)[0]!, () => ({})), body: Buffer.alloc(0) };
    const verify = async (headers: object) =>
      (await verifyCall(preset, { ...call, headers: { ...call.headers, ...headers } }, { secrets: [TOKEN] })).ok;
    expect(await verify({ "x-goog-channel-token": TOKEN })).toBe(true);
    expect(await verify({ "x-goog-channel-token": `${TOKEN}x` })).toBe(false);
    expect(await verify({ "x-goog-channel-token": "" })).toBe(false);
    expect(await verify({})).toBe(false);
    expect(parsePayload(call.body, undefined)).toEqual({ ok: true, payload: {}, format: "json", isPlain: false });
  });
});
