import { describe, expect, it } from "vitest";
import { sentry } from "../../../../src/presets/senders/sentry/sentry.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { itTakesTheHmac } from "../it-takes-the-hmac.ts";

const read = (resource: string, payload: object) =>
  readSample(sentry, { headers: { "sentry-hook-resource": resource }, payload });

describe("the preset sentry", () => {
  itReadsSamples(sentry, {
    issue: {
      event: "issue.created",
      deliveryId: "c1a50000-0000-4000-8000-000000000001",
      sender: { name: "Sentry", id: "sentry", bot: false },
      message: [
        "Issue APP-4 was created in App: TypeError: session is not defined",
        "Where: src/login.ts in login",
        "Level: error",
        "Seen: 3 times, by 2 users, first 2026-11-20T11:58:00.000000Z",
        "https://sentry.example.com/organizations/acme/issues/1170820242/",
      ],
    },
    event_alert: {
      event: "event_alert.triggered",
      deliveryId: "c1a50000-0000-4000-8000-000000000002",
      sender: { name: "Sentry", id: "sentry", bot: false },
      message: [
        'Alert "More than 10 errors an hour" in app: TypeError: session is not defined',
        "Where: src/login.ts in login",
        "Level: error",
        "Environment: production",
        "Release: app@1.4.2",
        "  at login (src/login.ts:8)",
        "  at handle (src/server.ts:21)",
        "Ids: issue 1170820242, event e4874d664c3540c1a32eab185f12c5ab",
        "https://sentry.example.com/organizations/acme/issues/1170820242/events/e4874d66/",
      ],
    },
    metric_alert: {
      event: "metric_alert.critical",
      deliveryId: "c1a50000-0000-4000-8000-000000000003",
      sender: { name: "Sentry", id: "sentry", bot: false },
      message: [
        "Metric alert: Critical: Too many errors",
        "1000 events in the last 10 minutes",
        "Projects: app",
        "https://sentry.example.com/organizations/acme/alerts/rules/details/4/",
      ],
    },
    installation: {
      event: "installation.created",
      deliveryId: "c1a50000-0000-4000-8000-000000000004",
      sender: { name: "Ada Lund", id: "1", bot: false },
      skip: "an integration was installed or removed",
      message: [
        "Installation created by Ada Lund",
        '{"installation":{"uuid":"c1a50000-0000-4000-8000-0000000000aa","app":{"uuid":"c1a50000-0000-4000-8000-0000000000bb","slug":"gateway"},"organization":{"slug":"acme"},"status":"pending"}}',
      ],
    },
  });

  itTakesTheHmac(sentry, "issue", "sentry-hook-signature", (mac) => mac.digest("hex"));

  it("takes other applications for bots, and Sentry itself for none, or no error would ever arrive", () => {
    const actor = { type: "application", id: "c1a5", name: "Our gateway" };
    expect(read("issue", { action: "resolved", actor }).sender).toEqual({ name: "Our gateway", id: "c1a5", bot: true });
    expect(readSample(sentry, sentry.samples["issue"]!).sender).toMatchObject({ bot: false });
    expect(read("issue", { actor: { type: "user", id: 7, name: "Ada" } }).sender).toEqual({
      name: "Ada",
      id: "7",
      bot: false,
    });
  });

  it("skips an installation and never discloses its code, whatever the header says", () => {
    const { payload } = sentry.samples["installation"]!;
    expect(readSample(sentry, { payload }).skip).toBeDefined();
    expect(readSample(sentry, { payload }).message).not.toContain("made-up-grant-code");
    expect(readSample(sentry, sentry.samples["installation"]!).message).not.toContain("made-up-grant-code");
  });

  it.each<[string, object, readonly string[]]>([
    [
      "issue",
      {
        action: "ignored",
        data: {
          issue: { shortId: "APP-4", title: "T", assignedTo: { name: "Ben" }, web_url: "https://s.example.com/1" },
        },
      },
      ["Issue APP-4 was archived by Ada: T", "Assigned to: Ben", "https://s.example.com/1"],
    ],
    [
      "activity_alert",
      { action: "triggered", data: { issue: { shortId: "APP-4", title: "T" } } },
      ["Alert: issue APP-4 by Ada: T"],
    ],
    [
      "error",
      {
        action: "created",
        data: {
          error: {
            title: "T",
            project_slug: "app",
            exception: { values: [{ stacktrace: { frames: [{ module: "m", lineno: 3 }, {}] } }] },
          },
        },
      },
      ["Error in app: T", "  at (m:3)"],
    ],
    [
      "comment",
      { action: "created", data: { comment: "C", issue_id: 12, project_slug: "app" } },
      ["Ada commented on issue 12 in app", "C"],
    ],
    ["comment", { action: "deleted", data: {} }, ["Ada deleted a comment on issue"]],
    [
      "metric_alert",
      { action: "warning", data: { metric_alert: { projects: ["a", 1, null] } } },
      ["Metric alert: warning", "Projects: a, 1"],
    ],
    [
      "seer",
      { action: "root_cause_completed", data: { run_id: 7 } },
      ["Seer root cause completed by Ada", '{"run_id":7}'],
    ],
  ])("says of %s %j what happened", (resource, payload, lines) => {
    expect(read(resource, { ...payload, actor: { name: "Ada", id: 1, type: "user" } }).message).toBe(lines.join("\n"));
  });

  it("shows the line of code of each frame and the request that failed", () => {
    const event = {
      title: "ZeroDivisionError: division by zero",
      event_id: "e1",
      issue_id: "117",
      request: { method: "GET", url: "https://shop.example.com/cart/9" },
      exception: {
        values: [
          {
            stacktrace: {
              frames: [
                { filename: "cart.py", function: "total", lineno: 12, in_app: true, context_line: "    return a / b" },
              ],
            },
          },
        ],
      },
    };
    const headers = { "sentry-hook-resource": "error" };
    const { message } = readSample(sentry, { headers, payload: { action: "created", data: { error: event } } });
    expect(message.split("\n")).toEqual(
      expect.arrayContaining([
        "  at total (cart.py:12): return a / b",
        "Request: GET https://shop.example.com/cart/9",
        "Ids: issue 117, event e1",
      ]),
    );
  });
});
