import type { PresetSample } from "../../preset.ts";

/** Samples of Gitea and Forgejo, with the prefix of their headers and the address of their site. */
export function forgeSamples(prefix: string, site: string): Readonly<Record<string, PresetSample>> {
  const repository = { id: 1, name: "app", full_name: "acme/app", private: true, html_url: `${site}/acme/app` };
  const sender = { id: 7, login: "ada", username: "ada", full_name: "Ada Lund", email: "ada@example.com" };
  const headers = (event: string, delivery: string) => ({
    [`${prefix}-event`]: event,
    [`${prefix}-event-type`]: event,
    [`${prefix}-delivery`]: delivery,
  });
  return {
    push: {
      headers: headers("push", "b7d10000-0000-4000-8000-000000000001"),
      payload: {
        ref: "refs/heads/main",
        before: "95790bf891e76fee5e1747ab589903a6a1f80f22",
        after: "da1560886d4f094c3e6c9ef40349f7d38b5d27d7",
        compare_url: `${site}/acme/app/compare/95790bf...da15608`,
        commits: [
          {
            id: "da1560886d4f094c3e6c9ef40349f7d38b5d27d7",
            message: "Test the session's end\n",
            author: { name: "Ben", email: "ben@example.com", username: "ben" },
          },
          {
            id: "b6568db1bc1dcd7f8b4d5a946b0b91f9dacd7327",
            message: "Keep sessions for a day\n",
            author: { name: "Ada Lund", email: "ada@example.com", username: "ada" },
          },
        ],
        total_commits: 2,
        repository,
        pusher: sender,
        sender,
      },
    },
    pull_request: {
      headers: headers("pull_request", "b7d10000-0000-4000-8000-000000000002"),
      payload: {
        action: "opened",
        number: 12,
        pull_request: {
          id: 120,
          number: 12,
          title: "Fix login",
          body: "Sessions ended after a minute.",
          html_url: `${site}/acme/app/pulls/12`,
          user: sender,
          head: { ref: "fix-login" },
          base: { ref: "main" },
          merged: false,
        },
        repository,
        sender,
      },
    },
    issue_comment: {
      headers: headers("issue_comment", "b7d10000-0000-4000-8000-000000000003"),
      payload: {
        action: "created",
        is_pull: false,
        issue: { id: 110, number: 11, title: "Login ends too soon", html_url: `${site}/acme/app/issues/11` },
        comment: {
          id: 990,
          body: "It also happens on the phone.",
          html_url: `${site}/acme/app/issues/11#issuecomment-990`,
          user: sender,
        },
        repository,
        sender,
      },
    },
  };
}
