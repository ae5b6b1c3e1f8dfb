import type { ExpectedReading } from "../it-reads-samples.ts";

/** What is read of the samples of GitLab, however the webhook proves where it comes from. */
export const GITLAB_READINGS: Readonly<Record<string, ExpectedReading>> = {
  push: {
    event: "push",
    deliveryId: "f5e5f430-f57b-4e6e-9fac-d9128cd7232f",
    sender: { name: "ada", id: "4", bot: false },
    message: [
      "ada pushed 2 commits to branch main in acme/app",
      "- b6568db Keep sessions for a day (Ada Lund)",
      "- da15608 Test the session's end (Ben)",
      "https://gitlab.example.com/acme/app",
    ],
  },
  merge_request: {
    event: "merge_request.open",
    deliveryId: "f5e5f430-f57b-4e6e-9fac-d9128cd72330",
    sender: { name: "ada", id: "4", bot: false },
    message: [
      "ada opened merge request !7 in acme/app: Fix login",
      "Branch: fix-login into main",
      "Sessions ended after a minute.",
      "https://gitlab.example.com/acme/app/-/merge_requests/7",
    ],
  },
  note: {
    event: "note.create",
    deliveryId: "f5e5f430-f57b-4e6e-9fac-d9128cd72331",
    sender: { name: "ada", id: "4", bot: false },
    message: [
      "ada commented on issue #17 in acme/app: Login ends too soon",
      "It also happens on the phone.",
      "https://gitlab.example.com/acme/app/-/issues/17#note_1241",
    ],
  },
  pipeline: {
    event: "pipeline.failed",
    deliveryId: "f5e5f430-f57b-4e6e-9fac-d9128cd72332",
    sender: { name: "ada", id: "4", bot: false },
    message: [
      "Pipeline #31 failed on main in acme/app",
      "Started by: ada",
      "Commit: da15608 Test the session's end",
      "Failed job: unit of stage test (script failure)",
      "https://gitlab.example.com/acme/app/-/pipelines/31",
    ],
  },
};
