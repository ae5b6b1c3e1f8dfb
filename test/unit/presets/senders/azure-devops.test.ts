import { describe, expect, it } from "vitest";
import { azureDevops } from "../../../../src/presets/senders/azure-devops.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const SECRET = "azure:an-invented-password-of-acme";
const basic = (login: string) => `Basic ${Buffer.from(login).toString("base64")}`;

describe("the preset azure-devops", () => {
  itReadsSamples(azureDevops, {
    "git.pullrequest.created": {
      event: "git.pullrequest.created",
      deliveryId: "4f6e6328-0251-4814-a009-c01dfa368e3f.2ab4e3d3-b7a6-425e-92b1-5a9982c1269e",
      sender: { name: "Ada Byron", id: "ada@example.com", bot: false },
      message: [
        "Ada Byron created pull request 42 (Fix login) in app: Fix login",
        "State: active",
        "The session ended too early.",
        "Branches: fix-login into main",
        "Repository: https://dev.azure.com/acme/Acme/_git/app",
        "https://dev.azure.com/acme/_apis/git/repositories/278d5cd2-584d-4b63-824a-2ba458937249/pullRequests/42",
        "Ids: pull request 42, repository 278d5cd2-584d-4b63-824a-2ba458937249",
      ],
    },
    "workitem.updated": {
      event: "workitem.updated",
      deliveryId: "4f6e6328-0251-4814-a009-c01dfa368e3f.27646e0e-b520-4d2b-9411-bba7524947cd",
      sender: { name: "Ada Byron", id: "ada@example.com", bot: false },
      message: [
        "Bug #5 (Some great new idea!) updated by Ada Byron: Login fails",
        "Kind: Bug",
        "State: approved",
        "Changed System.State: New, now Approved",
        "Changed System.AssignedTo: empty, now Ada Byron <ada@example.com>",
        "https://dev.azure.com/acme/_apis/wit/workItems/5/updates/2",
        "Ids: work item 5",
      ],
    },
    "git.push": {
      event: "git.push",
      deliveryId: "4f6e6328-0251-4814-a009-c01dfa368e3f.03c164c2-8912-4d5e-8009-3707d5f83734",
      sender: { name: "Ada Byron", id: "ada@example.com", bot: false },
      message: [
        "Ada Byron pushed updates to app:main",
        "Branches: main",
        "- 33b55f7 Fix login (Ada Byron)",
        "Repository: https://dev.azure.com/acme/Acme/_git/app",
        "Ids: repository 278d5cd2-584d-4b63-824a-2ba458937249",
      ],
    },
    "build.complete": {
      event: "build.complete",
      deliveryId: "4f6e6328-0251-4814-a009-c01dfa368e3f.4a5d99d6-1c75-4e53-91b9-ee80057d4ce3",
      sender: { name: "Ada Byron", id: "ada@example.com", bot: false },
      message: [
        "Build 20261120.2 failed",
        "State: failed",
        "Branches: main",
        "Commit: 600c52d",
        "Pipeline: app-ci",
        "https://dev.azure.com/acme/Acme/_build/results?buildId=2727068",
        "Ids: build 2727068",
      ],
    },
  });

  it("reads a comment on a work item, and one of a pull request, whose text is HTML", () => {
    const fields = { "System.Title": "Login fails", "System.History": "<div>Fixed in <b>42</b></div>" };
    const item = { eventType: "workitem.commented", resource: { id: 5, fields } };
    expect(readSample(azureDevops, { payload: item }).message).toBe(
      "Azure DevOps: workitem commented: Login fails\nComment: Fixed in 42\nIds: work item 5",
    );
    const comment = { id: 1, content: "Looks good" };
    const review = { message: { text: "Ada commented" }, resource: { comment, url: "https://dev.azure.com/a" } };
    expect(readSample(azureDevops, { payload: review }).message).toBe(
      "Ada commented\nComment: Looks good\nhttps://dev.azure.com/a\nIds: comment 1",
    );
  });

  const ada = { id: "1", displayName: "Ada Byron", uniqueName: "ada@example.com" };
  const grace = { id: "2", displayName: "Grace Murray", uniqueName: "grace@example.com" };
  const pullRequest = {
    repository: { id: "r1", remoteUrl: "https://dev.azure.com/acme/_git/app" },
    pullRequestId: 42,
    status: "active",
    createdBy: ada,
    title: "Fix login",
    description: "The session ended too early.",
    sourceRefName: "refs/heads/fix-login",
    targetRefName: "refs/heads/main",
    reviewers: [grace, { id: "3", displayName: "Grace", uniqueName: "g@example.com" }],
    url: "https://dev.azure.com/acme/_apis/git/pullRequests/42",
  };

  it("reads a comment on a pull request, which stands beside it", () => {
    const comment = { id: 7, parentCommentId: 1, content: "Why 42?", author: grace };
    const payload = {
      eventType: "ms.vss-code.git-pullrequest-comment-event",
      message: { text: "Grace Murray has commented on a pull request" },
      resource: { comment, pullRequest },
    };
    expect(readSample(azureDevops, { payload })).toMatchObject({
      sender: { name: "Grace Murray", id: "grace@example.com", bot: false },
      message: [
        "Grace Murray has commented on a pull request: Fix login",
        "State: active",
        "Comment: Why 42?",
        "Branches: fix-login into main",
        "Repository: https://dev.azure.com/acme/_git/app",
        "https://dev.azure.com/acme/_apis/git/pullRequests/42",
        "Ids: pull request 42, comment 7, repository r1",
      ].join("\n"),
    });
  });

  it.each([
    ["Grace Murray has approved pull request 42", { name: "Grace Murray", id: "grace@example.com", bot: false }],
    ["Ada Byron updated the source branch", { name: "Ada Byron", id: "ada@example.com", bot: false }],
    ["Someone Else updated the source branch", undefined],
    [undefined, undefined],
  ])("knows of an update of a pull request who is behind it: %s", (text, sender) => {
    const payload = { eventType: "git.pullrequest.updated", message: { text }, resource: pullRequest };
    expect(readSample(azureDevops, { payload }).sender).toEqual(sender);
  });

  it.each([
    ["Ada Byron <ada@example.com>", { name: "Ada Byron", id: "ada@example.com", bot: false }],
    ["Ada Byron", { name: "Ada Byron", bot: false }],
    [ada, { name: "Ada Byron", id: "ada@example.com", bot: false }],
    [undefined, undefined],
  ])("knows who created or commented a work item: %j", (who, sender) => {
    for (const eventType of ["workitem.created", "workitem.commented"]) {
      const fields = { "System.ChangedBy": who, "System.Title": "Login fails" };
      expect(readSample(azureDevops, { payload: { eventType, resource: { id: 5, fields } } }).sender).toEqual(sender);
    }
  });

  it("skips a test of a subscription, which tells of an invented project", () => {
    const { payload } = azureDevops.samples["git.push"]!;
    const test = { ...(payload as object), subscriptionId: "00000000-0000-0000-0000-000000000000" };
    expect(readSample(azureDevops, { payload: test }).skip).toBe("Azure DevOps tests the subscription");
  });

  it("shows a resource without an id as it is", () => {
    const payload = { eventType: "run.statechanged", resource: { run: { state: "completed" } } };
    expect(readSample(azureDevops, { payload }).message).toBe(
      'Azure DevOps: run statechanged\n{"run":{"state":"completed"}}',
    );
  });

  it("takes user name and password, and no others", async () => {
    const verify = async (headers: Readonly<Record<string, string>>) => {
      const call = sampleCall(azureDevops, "git.push", () => headers);
      return (await verifyCall(azureDevops, call, { secrets: [SECRET] })).ok;
    };
    expect(await verify({ authorization: basic(SECRET) })).toBe(true);
    expect(await verify({ authorization: basic(`other${SECRET}`) })).toBe(false);
    expect(await verify({ authorization: `Bearer ${SECRET}` })).toBe(false);
    expect(await verify({})).toBe(false);
  });
});
