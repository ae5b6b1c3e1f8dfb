import { describe, expect, it } from "vitest";
import type { PresetSample } from "../../../../src/presets/preset.ts";
import { github } from "../../../../src/presets/senders/github/github.ts";
import { readPayload, readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

const read = (event: string, payload: object) => readSample(github, { headers: { "x-github-event": event }, payload });

describe("the preset github", () => {
  itReadsSamples(github, {
    push: {
      event: "push",
      deliveryId: "11111111-0000-4000-8000-000000000001",
      sender: { name: "octo", id: "4711", bot: false },
      message: [
        "octo pushed 2 commits to branch main in acme/app",
        "- 4b2f3e1 Keep sessions for a day (Olga Octo)",
        "- 9c1185a Test the session's end (Ada)",
        "https://github.example.com/acme/app/compare/0d1a26e67d8f...9c1185a5c5e9",
      ],
    },
    pull_request: {
      event: "pull_request.opened",
      deliveryId: "11111111-0000-4000-8000-000000000002",
      sender: { name: "octo", id: "4711", bot: false },
      message: [
        "octo opened pull request #12 in acme/app: Fix login",
        "Branch: fix-login into main",
        "Size: +10 -2, files: 3",
        "Sessions ended after a minute.",
        "",
        "Closes #11.",
        "https://github.example.com/acme/app/pull/12",
      ],
    },
    issue_comment: {
      event: "issue_comment.created",
      deliveryId: "11111111-0000-4000-8000-000000000003",
      sender: { name: "octo", id: "4711", bot: false },
      message: [
        "octo commented on issue #11 in acme/app: Login ends too soon",
        "It also happens on the phone.",
        "https://github.example.com/acme/app/issues/11#issuecomment-990011",
      ],
    },
    workflow_run: {
      event: "workflow_run.completed",
      deliveryId: "11111111-0000-4000-8000-000000000004",
      sender: { name: "octo", id: "4711", bot: false },
      message: [
        "Workflow CI #36 failed on main in acme/app: Fix login",
        "Started by: octo (push)",
        "Commit: 9c1185a Test the session's end",
        "https://github.example.com/acme/app/actions/runs/55001",
      ],
    },
    ping: {
      event: "ping",
      deliveryId: "11111111-0000-4000-8000-000000000005",
      sender: { name: "octo", id: "4711", bot: false },
      skip: "a ping, by which GitHub tries the webhook",
      message: [
        "Ping in acme/app by octo",
        "https://github.example.com/acme/app",
        '{"zen":"Mind your words, they are important.","hook_id":3301}',
      ],
    },
  });

  it.each(["deployment_status", "deployment", "status"])("takes a report by %s of an app's bot for news", (event) => {
    const sample = { headers: { "x-github-event": event }, payload: {} };
    const sender = { login: "vercel[bot]", id: 35613825, type: "Bot" };
    expect(readPayload(github, { sender }, { sample }).sender).toMatchObject({ name: "vercel[bot]", bot: false });
    const comment = { ...sample, headers: { "x-github-event": "issue_comment" } };
    expect(readPayload(github, { sender }, { sample: comment }).sender).toMatchObject({ bot: true });
  });

  it.each([
    [{ login: "dependabot[bot]", id: 49, type: "Bot" }, true],
    [{ login: "acme-app[bot]", id: 50 }, true],
    [{ login: "acme-app", id: 51, type: "Bot" }, true],
    [{ login: "octo", id: 4711, type: "User" }, false],
    [{ login: "acme", id: 9001, type: "Organization" }, false],
  ])("knows of %j whether it is a bot", (sender, bot) => {
    expect(read("issues", { action: "opened", sender }).sender).toEqual({
      name: sender.login,
      id: String(sender.id),
      bot,
    });
  });

  it("takes who pushed for the sender where no other is named", () => {
    expect(read("push", { pusher: { name: "octo" } }).sender).toEqual({ name: "octo", bot: false });
    expect(read("push", {}).sender).toBeUndefined();
  });

  it("reads the form of hooks that were made through the API as it reads JSON", () => {
    const { payload, ...rest } = github.samples["pull_request"]!;
    const form: PresetSample = { ...rest, format: "form", payload: { payload: JSON.stringify(payload) } };
    expect(readSample(github, form)).toEqual(readSample(github, github.samples["pull_request"]!));
    expect(github.mapping({})).toMatchObject({ accept: ["json", "form"] });
  });

  it("takes nothing of a form but its payload", () => {
    const payload = { payload: JSON.stringify({ action: "opened", sender: { login: "octo" } }), action: "closed" };
    const headers = { "x-github-event": "issues" };
    expect(readSample(github, { headers, format: "form", payload })).toMatchObject({ event: "issues.opened" });
  });

  it.each(["no json", "", "{", '"text"', "[1]"])("bears a form whose payload is %j", (text) => {
    const sample: PresetSample = { headers: { "x-github-event": "push" }, format: "form", payload: { payload: text } };
    expect(readSample(github, sample)).toMatchObject({ event: "push", sender: undefined });
    expect(readSample(github, sample).message.split("\n")[0]).toBe("Someone pushed branch");
  });

  it.each<[string, object, readonly string[]]>([
    [
      "push",
      { ref: "refs/heads/main", forced: true, commits: [{ id: "abcdef0123", message: "Fix  login\n\nLong story" }] },
      ["octo force-pushed 1 commit to branch main in acme/app", "- abcdef0 Fix login"],
    ],
    ["push", { ref: "refs/heads/old", deleted: true, commits: [] }, ["octo deleted branch old in acme/app"]],
    [
      "push",
      { ref: "refs/tags/v1", created: true, commits: [{ id: "abcdef0123" }] },
      ["octo created tag v1 with 1 commit in acme/app", "- abcdef0"],
    ],
    ["push", { ref: "refs/heads/main", commits: [] }, ["octo pushed branch main in acme/app"]],
    [
      "pull_request",
      { action: "closed", pull_request: { number: 3, merged: true, title: "T" } },
      ["octo merged pull request #3 in acme/app: T"],
    ],
    [
      "pull_request",
      { action: "review_requested", pull_request: { number: 3, body: "B" }, requested_team: { name: "Core" } },
      ["octo asked for a review of pull request #3 by Core in acme/app", "B"],
    ],
    [
      "pull_request",
      { action: "auto_merge_enabled", number: 3 },
      ["octo enabled auto-merge of pull request in acme/app"],
    ],
    ["pull_request", { action: "auto_merge_disabled" }, ["octo disabled auto-merge of pull request in acme/app"]],
    ["pull_request", { action: "enqueued" }, ["octo added pull request to the merge queue in acme/app"]],
    ["pull_request", { action: "dequeued" }, ["octo removed pull request from the merge queue in acme/app"]],
    ["pull_request", {}, ["octo updated pull request in acme/app"]],
    [
      "pull_request_review",
      { action: "submitted", review: { state: "approved", body: "Nice" }, pull_request: { number: 3, title: "T" } },
      ["octo approved pull request #3 in acme/app: T", "Nice"],
    ],
    [
      "pull_request_review",
      { action: "submitted", review: { state: "changes_requested" }, pull_request: { number: 3 } },
      ["octo requested changes to pull request #3 in acme/app"],
    ],
    ["pull_request_review", {}, ["octo updated a review of pull request in acme/app"]],
    ["pull_request_review_thread", {}, ["octo updated a review thread of pull request in acme/app"]],
    [
      "issue_comment",
      { action: "created", issue: { number: 3, pull_request: {} }, comment: { body: "a\r\nb" } },
      ["octo commented on pull request #3 in acme/app", "a", "b"],
    ],
    ["issues", { action: "labeled", issue: { number: 3 } }, ["octo labeled issue #3 in acme/app"]],
    ["release", { release: { tag_name: "v1", name: "First" } }, ["octo updated release v1 in acme/app: First"]],
    [
      "release",
      { action: "published", release: { tag_name: "v1", prerelease: true, body: "News" } },
      ["octo published pre-release v1 in acme/app", "News"],
    ],
    ["member", {}, ["octo updated collaborator a collaborator in acme/app"]],
    [
      "member",
      { action: "edited", member: { login: "ada" }, changes: { permission: { to: "write" } } },
      ["octo changed the permissions of ada in acme/app", "Permission: write"],
    ],
    ["fork", { forkee: { full_name: "ada/app" } }, ["octo forked acme/app to ada/app"]],
    [
      "gollum",
      { pages: [{ action: "created", title: "Home" }, {}] },
      ["octo changed 2 wiki pages in acme/app", "- created Home"],
    ],
    ["create", {}, ["octo created ref in acme/app"]],
    [
      "workflow_job",
      {
        action: "completed",
        workflow_job: { name: "unit", conclusion: "odd_end", steps: [{ conclusion: "failure", name: "test" }] },
      },
      ["Job unit is odd end in acme/app", "Started by: octo", "Failed step: test"],
    ],
    [
      "workflow_dispatch",
      { workflow: "ci.yml", ref: "refs/heads/main", inputs: { level: "all", empty: null } },
      ["octo started workflow ci.yml on main in acme/app", "Level: all"],
    ],
    [
      "check_run",
      { action: "requested_action", check_run: { name: "lint" }, requested_action: { identifier: "fix" } },
      ["Check lint was asked to act in acme/app", "Started by: octo", "Requested action: fix"],
    ],
    ["check_suite", {}, ["Check suite in acme/app", "Started by: octo"]],
    [
      "deployment_status",
      { deployment_status: { state: "strange", environment: "qa", environment_url: "https://qa.example.com" } },
      ["Deployment to qa is strange in acme/app", "Started by: octo", "Site: https://qa.example.com"],
    ],
    [
      "status",
      { state: "error", context: "ci", description: "Broken", sha: "abcdef0123" },
      ["Check ci failed in acme/app: Broken", "Reported by: octo", "Commit: abcdef0"],
    ],
    [
      "code_scanning_alert",
      {
        action: "appeared_in_branch",
        alert: { rule: { id: "r1" }, most_recent_instance: { location: { path: "a.ts" } } },
      },
      ["Code scanning alert was found in another branch in acme/app by octo: r1", "File: a.ts"],
    ],
    [
      "secret_scanning_alert",
      {
        action: "resolved",
        alert: {
          number: 2,
          secret: "ghp_leaked",
          secret_type: "github_token",
          resolution: "revoked",
          resolved_by: { login: "ada" },
        },
      },
      [
        "Secret scanning alert #2 was resolved in acme/app by octo: github_token",
        "Resolution: revoked",
        "Resolved by: ada",
      ],
    ],
    [
      "repository_advisory",
      { action: "reported", repository_advisory: { ghsa_id: "GHSA-1", summary: "Bad", description: "Very" } },
      ["Security advisory GHSA-1 was reported in acme/app by octo: Bad", "Very"],
    ],
    [
      "deploy_key",
      { action: "created", key: { title: "CI", key: "ssh-rsa AAAA" } },
      ["Deploy key created in acme/app by octo: CI"],
    ],
    [
      "repository",
      { action: "renamed", changes: { repository: { name: { from: "old" } } } },
      ["octo renamed acme/app from old"],
    ],
    [
      "new_thing",
      { action: "happened", new_thing: { odd: [1, null, { node_id: "x", deep: "y" }], url: "u", html_url: "" } },
      ["New thing happened in acme/app by octo", '{"new_thing":{"odd":[1,{"deep":"y"}]}}'],
    ],
  ])("says of %s %j what happened", (event, payload, lines) => {
    const origin = { sender: { login: "octo", id: 1, type: "User" }, repository: { full_name: "acme/app" } };
    expect(read(event, { ...payload, ...origin }).message).toBe(lines.join("\n"));
  });

  it("says something of an event without a name", () => {
    const reading = readSample(github, { payload: { hello: "world" } });
    expect(reading).toMatchObject({
      event: undefined,
      deliveryId: undefined,
      message: 'GitHub event\n{"hello":"world"}',
    });
  });

  it("counts the commits that it does not list", () => {
    const commits = Array.from({ length: 30 }, (_, at) => ({ id: `${at}`.padStart(40, "0"), message: `Commit ${at}` }));
    const lines = read("push", { ref: "refs/heads/main", commits }).message.split("\n");
    expect(lines).toHaveLength(22);
    expect(lines.at(-1)).toBe("... and 10 more");
  });

  it("keeps out of the message what would not fit into it", () => {
    const body = "x".repeat(50_000);
    const { message } = read("issues", { action: "opened", issue: { number: 1, title: body, body } });
    expect(message.length).toBeLessThan(5_000);
  });

  it.each([
    ["@@ -1,2 +10,3 @@ fn\n a\n-b\n+c\n+d", "12"],
    ["@@ -0,0 +1 @@\n+only", "1"],
    ["@@ -1,2 +10,3 @@", ""],
    ["no hunk", ""],
  ])("finds the line of a review comment in the diff %j", (diff_hunk, line) => {
    const payload = { action: "created", comment: { path: "README.md", diff_hunk, line: null, body: "Why?" } };
    const file = line === "" ? "README.md" : `README.md:${line}`;
    expect(read("pull_request_review_comment", payload).message.split("\n")).toContain(`File: ${file}`);
  });
});
