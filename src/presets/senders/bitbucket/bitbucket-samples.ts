import type { PresetSample } from "../../preset.ts";

const repository = {
  type: "repository",
  full_name: "acme/app",
  name: "app",
  uuid: "{5f3b0000-0000-4000-8000-000000000001}",
  links: { html: { href: "https://bitbucket.example.com/acme/app" } },
};
const actor = {
  type: "user",
  display_name: "Ada Lund",
  nickname: "ada",
  uuid: "{5f3b0000-0000-4000-8000-000000000002}",
  account_id: "557058:0a1b2c3d",
};

const headers = (event: string, request: string) => ({
  "user-agent": "Bitbucket-Webhooks/2.0",
  "x-event-key": event,
  "x-hook-uuid": "5f3b0000-0000-4000-8000-0000000000aa",
  "x-request-uuid": request,
  "x-attempt-number": "1",
});

const pullrequest = {
  id: 12,
  title: "Fix login",
  description: "Sessions ended after a minute.",
  state: "OPEN",
  source: { branch: { name: "fix-login" } },
  destination: { branch: { name: "main" } },
  links: { html: { href: "https://bitbucket.example.com/acme/app/pull-requests/12" } },
};

/** Payloads of Bitbucket Cloud, shortened to the fields that a message uses. */
export const bitbucketSamples: Readonly<Record<string, PresetSample>> = {
  push: {
    headers: headers("repo:push", "8a7c0000-0000-4000-8000-000000000001"),
    payload: {
      actor,
      repository,
      push: {
        changes: [
          {
            created: false,
            closed: false,
            forced: false,
            truncated: false,
            old: { type: "branch", name: "main" },
            new: { type: "branch", name: "main" },
            commits: [
              {
                hash: "da1560886d4f094c3e6c9ef40349f7d38b5d27d7",
                message: "Test the session's end\n",
                author: { raw: "Ben <ben@example.com>" },
              },
              {
                hash: "b6568db1bc1dcd7f8b4d5a946b0b91f9dacd7327",
                message: "Keep sessions for a day\n",
                author: { raw: "Ada Lund <ada@example.com>", user: { display_name: "Ada Lund" } },
              },
            ],
            links: { html: { href: "https://bitbucket.example.com/acme/app/branches/compare/da15608..b6568db" } },
          },
        ],
      },
    },
  },
  pullrequest: {
    headers: headers("pullrequest:created", "8a7c0000-0000-4000-8000-000000000002"),
    payload: { actor, repository, pullrequest },
  },
  comment: {
    headers: headers("pullrequest:comment_created", "8a7c0000-0000-4000-8000-000000000003"),
    payload: {
      actor,
      repository,
      pullrequest,
      comment: {
        id: 17,
        content: { raw: "Does it also work on the phone?" },
        inline: { path: "src/login.ts", from: null, to: 10 },
        links: { html: { href: "https://bitbucket.example.com/acme/app/pull-requests/12#comment-17" } },
      },
    },
  },
};
