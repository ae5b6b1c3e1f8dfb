import type { PresetSample } from "../../preset.ts";

const repository = {
  id: 700100200,
  name: "app",
  full_name: "acme/app",
  private: true,
  html_url: "https://github.example.com/acme/app",
  stargazers_count: 42,
  owner: { login: "acme", id: 9001, type: "Organization" },
};
const sender = { login: "octo", id: 4711, type: "User" };

const headers = (event: string, delivery: string) => ({
  "user-agent": "GitHub-Hookshot/0a1b2c3",
  "x-github-event": event,
  "x-github-delivery": delivery,
  "x-github-hook-id": "3301",
});

const pullRequest = {
  number: 12,
  state: "open",
  title: "Fix login",
  body: "Sessions ended after a minute.\r\n\r\nCloses #11.",
  html_url: "https://github.example.com/acme/app/pull/12",
  user: sender,
  head: { ref: "fix-login", sha: "9c1185a5c5e9fc54612808977ee8f548b2258d31" },
  base: { ref: "main", sha: "0d1a26e67d8f5eaf1f6ba5c57fc3c7d91ac0fd1c" },
  draft: false,
  merged: false,
  additions: 10,
  deletions: 2,
  changed_files: 3,
};

/** Payloads of GitHub, shortened to the fields that a message uses. */
export const githubSamples: Readonly<Record<string, PresetSample>> = {
  push: {
    headers: headers("push", "11111111-0000-4000-8000-000000000001"),
    payload: {
      ref: "refs/heads/main",
      before: "0d1a26e67d8f5eaf1f6ba5c57fc3c7d91ac0fd1c",
      after: "9c1185a5c5e9fc54612808977ee8f548b2258d31",
      created: false,
      deleted: false,
      forced: false,
      compare: "https://github.example.com/acme/app/compare/0d1a26e67d8f...9c1185a5c5e9",
      commits: [
        {
          id: "4b2f3e1d0c9a88776655443322110099aabbccdd",
          message: "Keep sessions for a day\n\nThey ended after a minute.",
          author: { name: "Olga Octo", email: "octo@example.com", username: "octo" },
        },
        {
          id: "9c1185a5c5e9fc54612808977ee8f548b2258d31",
          message: "Test the session's end",
          author: { name: "Ada", email: "ada@example.com", username: "ada" },
        },
      ],
      pusher: { name: "octo", email: "octo@example.com" },
      repository,
      sender,
    },
  },
  pull_request: {
    headers: headers("pull_request", "11111111-0000-4000-8000-000000000002"),
    payload: { action: "opened", number: 12, pull_request: pullRequest, repository, sender },
  },
  issue_comment: {
    headers: headers("issue_comment", "11111111-0000-4000-8000-000000000003"),
    payload: {
      action: "created",
      issue: {
        number: 11,
        title: "Login ends too soon",
        state: "open",
        html_url: "https://github.example.com/acme/app/issues/11",
        user: { login: "ada", id: 4712, type: "User" },
      },
      comment: {
        id: 990011,
        body: "It also happens on the phone.",
        html_url: "https://github.example.com/acme/app/issues/11#issuecomment-990011",
        user: sender,
      },
      repository,
      sender,
    },
  },
  workflow_run: {
    headers: headers("workflow_run", "11111111-0000-4000-8000-000000000004"),
    payload: {
      action: "completed",
      workflow_run: {
        id: 55001,
        name: "CI",
        display_title: "Fix login",
        run_number: 36,
        run_attempt: 1,
        event: "push",
        status: "completed",
        conclusion: "failure",
        head_branch: "main",
        head_sha: "9c1185a5c5e9fc54612808977ee8f548b2258d31",
        head_commit: { message: "Test the session's end" },
        html_url: "https://github.example.com/acme/app/actions/runs/55001",
        triggering_actor: sender,
      },
      workflow: { id: 77, name: "CI", path: ".github/workflows/ci.yml" },
      repository,
      sender,
    },
  },
  ping: {
    headers: headers("ping", "11111111-0000-4000-8000-000000000005"),
    payload: {
      zen: "Mind your words, they are important.",
      hook_id: 3301,
      hook: { type: "Repository", id: 3301, active: true, events: ["push"], config: { content_type: "json" } },
      repository,
      sender,
    },
  },
};
