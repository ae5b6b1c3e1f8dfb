import { describe, expect, it } from "vitest";
import { alertCounts, alertLines, onlyAlerts, shortSha } from "../../../../src/presets/message/list-lines.ts";

describe("the alerts of a notification", () => {
  it.each<[object, string]>([
    [{ alerts: [{ status: "firing" }] }, "1 alert firing"],
    [{ alerts: [{}, {}, { status: "resolved" }] }, "2 alerts firing, 1 resolved"],
    [{ alerts: [{ status: "resolved" }, { status: "resolved" }] }, "2 alerts resolved"],
    [{ status: "firing" }, "alerts firing"],
    [{}, ""],
  ])("are counted: %j", (payload, counts) => {
    expect(alertCounts(payload)).toBe(counts);
  });

  it("are shown without a description that only repeats the summary", () => {
    const alert = { labels: { alertname: "A" }, annotations: { summary: "S", description: "S" } };
    expect(alertLines({ alerts: [alert] })).toEqual(["- Firing: A: S"]);
  });

  it("do not end at the time that Go writes for none", () => {
    const times = { startsAt: "2026-11-20T11:00:00Z", endsAt: "0001-01-01T00:00:00Z" };
    expect(alertLines({ alerts: [{ status: "resolved", ...times }] })).toEqual([
      "- Resolved: alert\nSince: 2026-11-20T11:00:00Z",
    ]);
  });

  it.each([{}, { alerts: [] }, { alerts: {} }, { alerts: [null] }, { alerts: [{ labels: { alertname: ["A"] } }] }])(
    "are not taken for others: %j",
    (payload) => {
      expect(onlyAlerts(payload, new Set(["A"]))).toBe(false);
    },
  );
});

describe("the short form of a commit's id", () => {
  it("is its beginning, without a space at the end when the sender sends something else", () => {
    expect(shortSha("1dc6aa69429bff4806ad6afe58d3d8f57e25973e")).toBe("1dc6aa6");
    expect(shortSha("abcdef ghijk")).toBe("abcdef");
  });
});
