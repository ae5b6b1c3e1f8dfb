import type { ExpectedReading } from "../it-reads-samples.ts";

/** What is read of the samples of Gitea and Forgejo, of which one is at `site`. */
export function forgeReadings(site: string): Readonly<Record<string, ExpectedReading>> {
  return {
    push: {
      event: "push",
      deliveryId: "b7d10000-0000-4000-8000-000000000001",
      sender: { name: "ada", id: "7", bot: false },
      message: [
        "ada pushed 2 commits to branch main in acme/app",
        "- b6568db Keep sessions for a day (Ada Lund)",
        "- da15608 Test the session's end (Ben)",
        `${site}/acme/app/compare/95790bf...da15608`,
      ],
    },
    pull_request: {
      event: "pull_request.opened",
      deliveryId: "b7d10000-0000-4000-8000-000000000002",
      sender: { name: "ada", id: "7", bot: false },
      message: [
        "ada opened pull request #12 in acme/app: Fix login",
        "Branch: fix-login into main",
        "Sessions ended after a minute.",
        `${site}/acme/app/pulls/12`,
      ],
    },
    issue_comment: {
      event: "issue_comment.created",
      deliveryId: "b7d10000-0000-4000-8000-000000000003",
      sender: { name: "ada", id: "7", bot: false },
      message: [
        "ada commented on issue #11 in acme/app: Login ends too soon",
        "It also happens on the phone.",
        `${site}/acme/app/issues/11#issuecomment-990`,
      ],
    },
  };
}
