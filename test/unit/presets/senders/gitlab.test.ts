import { describe, expect, it } from "vitest";
import { gitlab } from "../../../../src/presets/senders/gitlab/gitlab.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";
import { GITLAB_READINGS } from "./gitlab-readings.ts";

const read = (payload: object) => readSample(gitlab, { payload });

describe("the preset gitlab", () => {
  itReadsSamples(gitlab, GITLAB_READINGS);

  it.each([
    ["project_15_bot_0a1b2c", true],
    ["project_15_bot", true],
    ["group_3_bot_0a1b", true],
    ["service_account_0a1b", true],
    ["support-bot", true],
    ["GitLabDuo", true],
    ["ada", false],
    ["robot", false],
    ["project_bot", false],
  ])("knows of the user %s whether it is a bot", (username, bot) => {
    expect(read({ user: { username } }).sender).toEqual({ name: username, bot });
  });

  it("names no actor where GitLab only says whom it is about", () => {
    const payload = {
      event_name: "user_add_to_group",
      user_username: "ada",
      group_path: "acme",
      group_access: "Guest",
    };
    expect(read(payload)).toMatchObject({ event: "user_add_to_group", sender: undefined });
    expect(read(payload).message).toBe("User add to group in acme: ada\nRole: Guest");
  });

  it("takes the token as GitLab sends it, and no other", async () => {
    const secret = "an-invented-secret-token";
    const call = (token: string) => sampleCall(gitlab, "push", () => ({ "x-gitlab-token": token }));
    expect(await verifyCall(gitlab, call(secret), { secrets: [secret] })).toMatchObject({ ok: true });
    expect(await verifyCall(gitlab, call(`${secret}x`), { secrets: [secret] })).toMatchObject({ ok: false });
    expect(await verifyCall(gitlab, call(""), { secrets: [secret] })).toMatchObject({ ok: false });
  });

  it.each<[object, string | undefined, readonly string[]]>([
    [
      { object_kind: "push", before: "0".repeat(40), after: "a1", ref: "refs/heads/new" },
      "push",
      ["ada created branch new in acme/app"],
    ],
    [
      { object_kind: "tag_push", before: "a1", after: "0".repeat(40), ref: "refs/tags/v1" },
      "tag_push",
      ["ada deleted tag v1 in acme/app"],
    ],
    [
      {
        object_kind: "push",
        ref: "refs/heads/main",
        total_commits_count: 30,
        commits: [{ id: "abcdef012", title: "T" }],
      },
      "push",
      ["ada pushed 30 commits to branch main in acme/app", "- abcdef0 T", "(30 commits in all)"],
    ],
    [
      {
        object_kind: "merge_request",
        object_attributes: {
          iid: 7,
          action: "update",
          title: "New",
          oldrev: "a1",
          last_commit: { id: "abcdef012", message: "Do\nit" },
        },
        changes: {
          title: { previous: "Old" },
          labels: { current: [{ title: "bug" }, {}, { title: "login" }] },
          reviewers: { current: [{ username: "ben" }] },
          assignees: { current: [{ username: "cy" }] },
        },
      },
      "merge_request.update",
      [
        "ada updated merge request !7 in acme/app: New",
        "Commit: abcdef0 Do",
        "Title was: Old",
        "Labels: bug, login",
        "Assignees: cy",
        "Reviewers: ben",
      ],
    ],
    [
      { object_kind: "merge_request", object_attributes: { iid: 7, action: "approved", title: "New" } },
      "merge_request.approved",
      ["ada approved merge request !7 in acme/app: New"],
    ],
    [
      { object_kind: "issue", object_attributes: { iid: 3, action: "close", title: "T", description: "D" } },
      "issue.close",
      ["ada closed issue #3 in acme/app: T"],
    ],
    [
      { object_kind: "work_item", object_attributes: { iid: 3 } },
      "work_item",
      ["ada changed work item #3 in acme/app"],
    ],
    [
      {
        object_kind: "note",
        object_attributes: { note: "N", noteable_type: "MergeRequest", action: "update" },
        merge_request: { iid: 7, title: "T" },
      },
      "note.update",
      ["ada edited a comment on merge request !7 in acme/app: T", "N"],
    ],
    [
      {
        object_kind: "note",
        object_attributes: { note: "N", noteable_type: "Commit" },
        commit: { id: "abcdef012", title: "T" },
      },
      "note",
      ["ada commented on commit abcdef0 in acme/app: T", "N"],
    ],
    [{ object_kind: "note", object_attributes: {} }, "note", ["ada commented on something in acme/app"]],
    [
      {
        object_kind: "build",
        build_name: "unit",
        build_stage: "test",
        build_status: "failed",
        build_failure_reason: "script_failure",
        build_id: 9,
        ref: "main",
        commit: { sha: "abcdef012", message: "T" },
      },
      "build.failed",
      [
        "Job unit of stage test failed on main in acme/app",
        "Reason: script failure",
        "Started by: ada",
        "Commit: abcdef0 T",
        "https://gitlab.example.com/acme/app/-/jobs/9",
      ],
    ],
    [
      { object_kind: "build", build_status: "running", build_failure_reason: "unknown_failure" },
      "build.running",
      ["Job is running in acme/app", "Started by: ada", "https://gitlab.example.com/acme/app"],
    ],
    [
      {
        object_kind: "deployment",
        status: "success",
        environment: "prod",
        ref: "main",
        short_sha: "abcdef0",
        environment_external_url: "https://app.example.com",
      },
      "deployment.success",
      [
        "Deployment of main to prod succeeded in acme/app",
        "Started by: ada",
        "Commit: abcdef0",
        "Site: https://app.example.com",
        "https://gitlab.example.com/acme/app",
      ],
    ],
    [
      {
        object_kind: "release",
        action: "create",
        tag: "v1",
        name: "First",
        description: "News",
        url: "https://gitlab.example.com/r",
      },
      "release.create",
      ["Release v1 was created in acme/app: First", "News", "https://gitlab.example.com/r"],
    ],
    [
      { object_kind: "wiki_page", object_attributes: { action: "create", title: "Home", message: "M" } },
      "wiki_page.create",
      ["ada created wiki page in acme/app: Home", "M"],
    ],
    [
      { object_kind: "feature_flag", object_attributes: { name: "beta", active: true } },
      "feature_flag",
      ["ada turned on feature flag beta in acme/app", "https://gitlab.example.com/acme/app"],
    ],
    [
      { object_kind: "feature_flag", object_attributes: { name: "beta", active: false } },
      "feature_flag",
      ["ada turned off feature flag beta in acme/app", "https://gitlab.example.com/acme/app"],
    ],
    [
      { object_kind: "feature_flag", object_attributes: { name: "beta" } },
      "feature_flag",
      ["ada changed feature flag beta in acme/app", "https://gitlab.example.com/acme/app"],
    ],
    [
      {
        object_kind: "vulnerability",
        object_attributes: { title: "Bad", severity: "high", url: "https://gitlab.example.com/v" },
      },
      "vulnerability",
      ["Vulnerability in acme/app by ada: Bad", "Severity: high", "https://gitlab.example.com/v"],
    ],
  ])("says of %j what happened", (payload, event, lines) => {
    const project = { path_with_namespace: "acme/app", web_url: "https://gitlab.example.com/acme/app" };
    const reading = read({ ...payload, user: { username: "ada" }, project });
    expect(reading.event).toBe(event);
    const expected = /^(?:push|tag_push)$/.test(event ?? "") ? [...lines, project.web_url] : lines;
    expect(reading.message).toBe(expected.join("\n"));
  });

  it("shows an event of which it knows nothing as it is", () => {
    expect(read({ strange: [1] })).toMatchObject({ event: undefined, message: 'GitLab event\n{"strange":[1]}' });
  });
});
