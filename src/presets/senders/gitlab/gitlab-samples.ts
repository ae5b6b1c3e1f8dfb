import type { PresetSample } from "../../preset.ts";

const project = {
  id: 15,
  name: "App",
  path_with_namespace: "acme/app",
  web_url: "https://gitlab.example.com/acme/app",
  default_branch: "main",
};
const user = { id: 4, name: "Ada Lund", username: "ada", email: "[REDACTED]" };

const headers = (event: string, delivery: string) => ({
  "user-agent": "GitLab/18.5.0",
  "x-gitlab-event": event,
  "x-gitlab-instance": "https://gitlab.example.com",
  "x-gitlab-event-uuid": "6a1f0000-0000-4000-8000-000000000099",
  "idempotency-key": delivery,
  "webhook-id": delivery,
});

/** Payloads of GitLab, shortened to the fields that a message uses. */
export const gitlabSamples: Readonly<Record<string, PresetSample>> = {
  push: {
    headers: headers("Push Hook", "f5e5f430-f57b-4e6e-9fac-d9128cd7232f"),
    payload: {
      object_kind: "push",
      event_name: "push",
      before: "95790bf891e76fee5e1747ab589903a6a1f80f22",
      after: "da1560886d4f094c3e6c9ef40349f7d38b5d27d7",
      ref: "refs/heads/main",
      user_id: 4,
      user_name: "Ada Lund",
      user_username: "ada",
      project,
      commits: [
        {
          id: "b6568db1bc1dcd7f8b4d5a946b0b91f9dacd7327",
          title: "Keep sessions for a day",
          message: "Keep sessions for a day\n\nThey ended after a minute.",
          author: { name: "Ada Lund", email: "ada@example.com" },
        },
        {
          id: "da1560886d4f094c3e6c9ef40349f7d38b5d27d7",
          title: "Test the session's end",
          message: "Test the session's end",
          author: { name: "Ben", email: "ben@example.com" },
        },
      ],
      total_commits_count: 2,
    },
  },
  merge_request: {
    headers: headers("Merge Request Hook", "f5e5f430-f57b-4e6e-9fac-d9128cd72330"),
    payload: {
      object_kind: "merge_request",
      event_type: "merge_request",
      user,
      project,
      object_attributes: {
        id: 99,
        iid: 7,
        title: "Fix login",
        description: "Sessions ended after a minute.",
        state: "opened",
        action: "open",
        source_branch: "fix-login",
        target_branch: "main",
        url: "https://gitlab.example.com/acme/app/-/merge_requests/7",
      },
      changes: {},
    },
  },
  note: {
    headers: headers("Note Hook", "f5e5f430-f57b-4e6e-9fac-d9128cd72331"),
    payload: {
      object_kind: "note",
      event_type: "note",
      user,
      project,
      object_attributes: {
        id: 1241,
        note: "It also happens on the phone.",
        noteable_type: "Issue",
        action: "create",
        url: "https://gitlab.example.com/acme/app/-/issues/17#note_1241",
      },
      issue: { id: 92, iid: 17, title: "Login ends too soon", state: "opened" },
    },
  },
  pipeline: {
    headers: headers("Pipeline Hook", "f5e5f430-f57b-4e6e-9fac-d9128cd72332"),
    payload: {
      object_kind: "pipeline",
      object_attributes: {
        id: 31,
        iid: 3,
        ref: "main",
        sha: "da1560886d4f094c3e6c9ef40349f7d38b5d27d7",
        source: "push",
        status: "failed",
        url: "https://gitlab.example.com/acme/app/-/pipelines/31",
      },
      user,
      project,
      commit: { id: "da1560886d4f094c3e6c9ef40349f7d38b5d27d7", title: "Test the session's end" },
      builds: [
        { id: 380, stage: "build", name: "compile", status: "success", allow_failure: false },
        {
          id: 381,
          stage: "test",
          name: "unit",
          status: "failed",
          allow_failure: false,
          failure_reason: "script_failure",
        },
      ],
    },
  },
};
