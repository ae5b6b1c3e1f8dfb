import { describe, expect, it } from "vitest";
import { jira } from "../../../../src/presets/senders/jira/jira.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { itTakesTheHmac } from "../it-takes-the-hmac.ts";

const read = (payload: object) => readSample(jira, { payload });

describe("the preset jira", () => {
  itReadsSamples(jira, {
    issue_created: {
      event: "jira:issue_created",
      deliveryId: "7d1f0000-0000-4000-8000-000000000001",
      sender: { name: "Ada Lund", id: "557058:0a1b2c3d", bot: false },
      message: [
        "Ada Lund created Bug APP-11 in App: Login ends too soon",
        "Status: To Do",
        "Priority: High",
        "Labels: login",
        "Sessions end after a minute.",
        "https://acme.atlassian.example.com/browse/APP-11",
      ],
    },
    issue_updated: {
      event: "jira:issue_updated",
      deliveryId: "7d1f0000-0000-4000-8000-000000000002",
      sender: { name: "Ada Lund", id: "557058:0a1b2c3d", bot: false },
      message: [
        "Ada Lund updated Bug APP-11 in App: Login ends too soon",
        "Status: To Do -> In Progress",
        "Assignee: Ada Lund",
        "https://acme.atlassian.example.com/browse/APP-11",
      ],
    },
    comment_created: {
      event: "comment_created",
      deliveryId: "7d1f0000-0000-4000-8000-000000000003",
      sender: { name: "Ada Lund", id: "557058:0a1b2c3d", bot: false },
      message: [
        "Ada Lund commented on Bug APP-11 in App: Login ends too soon",
        "It also happens on the phone.",
        "https://acme.atlassian.example.com/browse/APP-11",
      ],
    },
  });

  itTakesTheHmac(jira, "issue_created", "x-hub-signature", (mac) => `sha256=${mac.digest("hex")}`);

  it.each(["app", "atlassian", "customer", undefined])("takes no account of type %s for a bot", (accountType) => {
    expect(read({ user: { displayName: "Ada", accountId: "1", accountType } }).sender).toEqual({
      name: "Ada",
      id: "1",
      bot: false,
    });
  });

  it("takes the editor of a comment for the sender before its author", () => {
    const comment = { author: { displayName: "Ada" }, updateAuthor: { displayName: "Ben" } };
    expect(read({ comment }).sender).toEqual({ name: "Ben", bot: false });
  });

  it.each<[object, readonly string[]]>([
    [
      { webhookEvent: "jira:issue_deleted", issue: { key: "APP-1", fields: { assignee: { displayName: "Ben" } } } },
      ["Ada deleted APP-1", "Assignee: Ben"],
    ],
    [
      {
        webhookEvent: "jira:issue_updated",
        issue: { key: "APP-1" },
        changelog: { items: [{ field: "labels", fromString: "a" }, {}, null] },
      },
      ["Ada updated APP-1", "Labels: a -> nothing"],
    ],
    [
      { webhookEvent: "worklog_created", issue: { key: "APP-1" }, worklog: { comment: "Read", timeSpent: "2h" } },
      ["Ada logged work on APP-1", "Read", "Time spent: 2h"],
    ],
    [
      { webhookEvent: "issue_property_set", issue: { key: "APP-1", self: "http://jira.example.com/x" } },
      ["Ada caused issue property set of APP-1"],
    ],
    [
      { webhookEvent: "sprint_started", sprint: { name: "S 1", goal: "Done" } },
      ["Jira: sprint started by Ada: S 1", "Goal: Done"],
    ],
    [{ webhookEvent: "user_created" }, ["Jira: user created: Ada"]],
    [
      { webhookEvent: "jira:version_released", version: { name: "1.0", description: "First" } },
      ["Jira: version released by Ada: 1.0", "First"],
    ],
    [{ issue: { key: "no key", self: "https://jira.example.com/rest" } }, ["Ada caused an event of no key"]],
  ])("says of %j what happened", (payload, lines) => {
    expect(read({ ...payload, user: { displayName: "Ada" } }).message).toBe(lines.join("\n"));
  });

  it("shows an event of which it knows nothing as it is", () => {
    expect(read({ strange: 1 }).message).toBe('Jira: an event\n{"strange":1}');
  });
});
