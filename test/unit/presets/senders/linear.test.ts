import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { linear } from "../../../../src/presets/senders/linear/linear.ts";
import { NOW, readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const read = (payload: object) => readSample(linear, { payload });

describe("the preset linear", () => {
  itReadsSamples(linear, {
    issue: {
      event: "Issue.create",
      deliveryId: "9d3e0000-0000-4000-8000-000000000001",
      sender: { name: "Ada Lund", id: "7b2c0000-0000-4000-8000-000000000001", bot: false },
      message: [
        "Ada Lund created issue APP-11 in App: Login ends too soon",
        "State: In Progress",
        "Priority: High",
        "Assignee: Ada Lund",
        "Labels: bug",
        "Sessions end after a minute.",
        "Ids: issue 7b2c0000-0000-4000-8000-000000000003, team 7b2c0000-0000-4000-8000-000000000002, user 7b2c0000-0000-4000-8000-000000000001",
        "https://linear.example.com/acme/issue/APP-11/login-ends-too-soon",
      ],
    },
    issue_update: {
      event: "Issue.update",
      deliveryId: "9d3e0000-0000-4000-8000-000000000002",
      sender: { name: "Ada Lund", id: "7b2c0000-0000-4000-8000-000000000001", bot: false },
      message: [
        "Ada Lund updated issue APP-11 in App: Login ends too soon",
        "State: In Progress",
        "Ids: issue 7b2c0000-0000-4000-8000-000000000003, team 7b2c0000-0000-4000-8000-000000000002, user 7b2c0000-0000-4000-8000-000000000001",
        "https://linear.example.com/acme/issue/APP-11/login-ends-too-soon",
      ],
    },
    comment: {
      event: "Comment.create",
      deliveryId: "9d3e0000-0000-4000-8000-000000000003",
      sender: { name: "Ada Lund", id: "7b2c0000-0000-4000-8000-000000000001", bot: false },
      message: [
        "Ada Lund commented on issue APP-11: Login ends too soon",
        "It also happens on the phone.",
        "Ids: issue 7b2c0000-0000-4000-8000-000000000003, comment 7b2c0000-0000-4000-8000-000000000009, user 7b2c0000-0000-4000-8000-000000000001",
        "https://linear.example.com/acme/issue/APP-11/login-ends-too-soon#comment-7b2c0000",
      ],
    },
  });

  it("takes the signature of a body that says when it was sent", async () => {
    const payload = { ...(linear.samples["issue"]!.payload as object), webhookTimestamp: NOW };
    const body = Buffer.from(JSON.stringify(payload));
    const signature = createHmac("sha256", "an-invented-secret").update(body).digest("hex");
    const call = { ...sampleCall(linear, "issue", () => ({ "linear-signature": signature })), body };
    expect(await verifyCall(linear, call, { secrets: ["an-invented-secret"] })).toMatchObject({ ok: true });
    expect(await verifyCall(linear, call, { secrets: ["another-secret-here"] })).toMatchObject({ ok: false });
  });

  it.each(["user", "externalUser", "OauthClient", "integration"])("takes no actor of type %s for a bot", (type) => {
    expect(read({ actor: { id: "a1", type, name: "Ada" } }).sender).toEqual({ name: "Ada", id: "a1", bot: false });
  });

  it.each(["oauthClientId", "appUserId"])("takes the app that %s names for the agent's own", (key) => {
    const actor = { id: "a1", type: "oauthClient", name: "Agent" };
    expect(read({ actor, [key]: "a1" }).sender).toEqual({ name: "Agent", id: "a1", bot: true, own: true });
    expect(read({ actor, [key]: "a2" }).sender).toEqual({ name: "Agent", id: "a1", bot: false });
  });

  it("names an integration by its service, and who else is there without an actor", () => {
    expect(read({ actor: { type: "integration", service: "slack" } }).sender).toEqual({ name: "slack", bot: false });
    expect(read({ agentSession: { creator: { name: "Ada" } } }).sender).toEqual({ name: "Ada", bot: false });
  });

  it.each<[object, readonly string[]]>([
    [
      {
        type: "Issue",
        action: "update",
        data: { identifier: "APP-1", title: "New", description: "D", assignee: null, labels: [{ name: "bug" }, null] },
        updatedFrom: { title: "Old", description: "X", assigneeId: "u1", labelIds: [], dueDate: null },
      },
      ["Ada updated issue APP-1: New", "Title was: Old", "Assignee: none", "Labels: bug", "Due: none", "D"],
    ],
    [{ type: "Issue", action: "remove", data: { identifier: "APP-1" } }, ["Ada removed issue APP-1"]],
    [
      { type: "Comment", action: "update", data: { body: "B", parent: { body: "A" } } },
      ["Ada updated a comment on something", "In reply to: A", "B"],
    ],
    [
      {
        type: "AgentSessionEvent",
        action: "created",
        agentSession: {
          creator: { name: "Ben" },
          issue: { identifier: "APP-1", title: "T" },
          comment: { body: "Look" },
        },
      },
      ["Ben started a session on issue APP-1: T", "Look"],
    ],
    [
      { type: "AgentSessionEvent", action: "prompted", agentActivity: { body: "And now?" } },
      ["Someone replied in a session", "And now?"],
    ],
    [
      {
        type: "ProjectUpdate",
        action: "create",
        data: { body: "Well", health: "onTrack", project: { name: "P" } },
        url: "https://linear.example.com/p",
      },
      ["Project update created by Ada", "Project: P", "Health: onTrack", "Well", "https://linear.example.com/p"],
    ],
    [{ type: "IssueLabel", action: "odd_thing", data: { name: "bug" } }, ["Issue label odd thing by Ada: bug"]],
  ])("says of %j what happened", (payload, lines) => {
    expect(read({ ...payload, actor: { name: "Ada" } }).message).toBe(lines.join("\n"));
  });

  it("shows an event of which it knows nothing as it is", () => {
    expect(read({ strange: 1 }).message).toBe('Linear event changed\n{"strange":1}');
  });

  it("names the issue of a comment without an actor", () => {
    // The example of linear.app/developers/webhooks.
    const reading = read({
      action: "create",
      type: "Comment",
      data: {
        id: "2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9",
        createdAt: "2020-01-23T12:53:18.084Z",
        body: "Indeed, I think this is definitely an improvement over the previous version.",
        edited: false,
        issueId: "539068e2-ae88-4d09-bd75-22eb4a59612f",
        userId: "aacdca22-6266-4c0a-ab3c-8fa70a26765c",
      },
      url: "https://linear.app/issue/LIN-1778/foo-bar#comment-77217de3-fb52-4dad-bb9a-b356beb93de8",
    });
    expect(reading.message).toBe(
      [
        "Someone commented on issue 539068e2-ae88-4d09-bd75-22eb4a59612f",
        "Indeed, I think this is definitely an improvement over the previous version.",
        "Ids: issue 539068e2-ae88-4d09-bd75-22eb4a59612f, comment 2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9, user aacdca22-6266-4c0a-ab3c-8fa70a26765c",
        "https://linear.app/issue/LIN-1778/foo-bar#comment-77217de3-fb52-4dad-bb9a-b356beb93de8",
      ].join("\n"),
    );
  });

  it("takes for the actor of a session's event who wrote in it, and not who began it", () => {
    const session = { id: "s1", creatorId: "u1", creator: { id: "u1", name: "Ada" } };
    const began = read({ type: "AgentSessionEvent", action: "created", agentSession: session });
    expect(began.sender).toEqual({ name: "Ada", id: "u1", bot: false });
    const agentActivity = { id: "a1", userId: "u2", user: { id: "u2", name: "Ben" }, content: { body: "Delete it" } };
    const said = read({ type: "AgentSessionEvent", action: "prompted", agentSession: session, agentActivity });
    expect(said.sender).toEqual({ name: "Ben", id: "u2", bot: false });
    expect(said.message).toBe("Ben replied in a session\nDelete it\nIds: session s1, activity a1");
  });

  it("knows who caused a notice to the app", () => {
    const notice = read({
      type: "AppUserNotification",
      action: "issueAssignedToYou",
      notification: { actor: { id: "u1", name: "Ada" }, issue: { title: "Login ends too soon" } },
    });
    expect(notice.sender).toEqual({ name: "Ada", id: "u1", bot: false });
    expect(notice.message).toBe("App user notification issue assigned to you by Ada: Login ends too soon");
  });

  it("counts the unnamed authors of a session's context", () => {
    const payload = { agentSession: { creatorId: "u1", comment: { userId: "u2" } }, promptContext: "<issue/>" };
    const context = { path: "linear", headers: {}, query: {}, now: new Date(0), settings: {} };
    expect(linear.authorsOf({ ...context, payload })).toEqual([{ id: "u1" }, { id: "u2" }, {}]);
    expect(linear.authorsOf({ ...context, payload: { ...payload, promptContext: null } })).toHaveLength(2);
  });

  it("gives an agent's session its id and the whole context that Linear wrote for it", () => {
    const promptContext = `<issue identifier="ENG-7"><title>Login</title>${"x".repeat(6_000)}</issue>`;
    const { message } = read({
      type: "AgentSessionEvent",
      action: "created",
      promptContext,
      agentSession: { id: "s1", commentId: "c1", issue: { id: "i1", identifier: "ENG-7", title: "Login" } },
    });
    expect(message).toContain(`Context: ${promptContext}`);
    expect(message).toContain("Ids: session s1, issue i1, comment c1");
  });
});
