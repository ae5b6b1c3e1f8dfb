import { labeled, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { eventActor } from "../event-fields.ts";
import type { PresetEvent } from "../preset.ts";
import { happened, headline, idLine, lineAt, phrase, titled } from "../message/headline.ts";
import { shortSha } from "../message/list-lines.ts";
import { timeText } from "../message/value-text.ts";

const common = {
  happened_at: "2026-11-20T11:59:58.317Z",
  webhook: { id: "cf8c4fdd-0587-4da1-b4ca-4846e9640af9", name: "Reveille" },
  project: { id: "84996744-a854-4f5e-aea3-04e2851dc1d2", name: "app", slug: "github/acme/app" },
  organization: { id: "f22b6566-597d-46d5-ba74-99ef5bb3d85c", name: "acme" },
};
const workflow = {
  id: "fda08377-fe7e-46b1-8992-3a7aaecac9c3",
  name: "build-test-deploy",
  created_at: "2026-11-20T11:58:03.616Z",
  stopped_at: "2026-11-20T11:59:58.170Z",
  url: "https://app.circleci.com/pipelines/github/acme/app/130/workflows/fda08377-fe7e-46b1-8992-3a7aaecac9c3",
};

/** Workflows and jobs of CircleCI that have ended; signatures carry their version, so that others may follow. */
export const circleci = definePreset({
  name: "circleci",
  title: "CircleCI",
  documentation: "https://circleci.com/docs/guides/integration/outbound-webhooks/",
  auth: { scheme: "signature", from: "header:circleci-signature", prefix: "v1=", separator: "," },
  secret: { label: "Secret token", madeBy: "owner" },
  event: ["body:type", "body:workflow.status", "body:job.status"],
  deliveryId: { from: "body:id", signed: true },
  sender: ({ payload }) => eventActor(authorOf(payload), emailOf(payload)),
  success: { statuses: "2xx, within 5 seconds", otherwise: "tries again later" },
  skip: ({ event }) => (event === "ping" ? "CircleCI tests the webhook" : undefined),
  ignored: "the test ping. CircleCI marks no bots",
  mapping: { name: "CircleCI", links: ["app.circleci.com"] },
  message,
  samples: {
    "workflow-completed": {
      payload: {
        ...common,
        id: "3888f21b-eaa7-38e3-8f3d-75a63bba8895",
        type: "workflow-completed",
        workflow: { ...workflow, status: "failed" },
        pipeline: {
          id: "1285fe1d-d3a6-44fc-8886-8979558254c4",
          number: 130,
          created_at: "2026-11-20T11:58:03.544Z",
          trigger: { type: "webhook" },
          vcs: {
            provider_name: "github",
            origin_repository_url: "https://github.com/acme/app",
            target_repository_url: "https://github.com/acme/app",
            revision: "1dc6aa69429bff4806ad6afe58d3d8f57e25973e",
            commit: {
              subject: "Fix login",
              body: "",
              author: { name: "Ada Byron", email: "ada@example.com" },
              authored_at: "2026-11-20T11:57:53Z",
            },
            branch: "main",
          },
        },
      },
    },
    "job-completed": {
      payload: {
        ...common,
        id: "8bd71c28-4969-3677-8940-3e3a61c46660",
        type: "job-completed",
        workflow,
        job: {
          id: "8b91f9a8-7975-4e60-916c-f0152ccbc937",
          name: "test",
          started_at: "2026-11-20T11:59:28.841Z",
          stopped_at: "2026-11-20T11:59:58.170Z",
          status: "success",
          number: 136,
        },
        pipeline: {
          id: "37c74cb7-d64d-4032-8731-1cb95bfef921",
          number: 130,
          created_at: "2026-11-20T11:58:03.544Z",
          trigger: { type: "gitlab" },
          trigger_parameters: {
            gitlab: {
              web_url: "https://gitlab.com/acme/app",
              commit_author_name: "Grace Murray",
              commit_author_email: "grace@example.com",
              commit_title: "Update README.md",
            },
            git: { tag: "", checkout_sha: "850a1519f25d14e968649cc420d1bd381715c05c", branch: "docs" },
          },
        },
      },
    },
  },
  setup: [
    "Make up the {secret}, for example with openssl rand -hex 32, and set it as hooks.circleci.secret.",
    "In CircleCI open the project's settings, Webhooks, and add a webhook: {url} as the receiver URL, the {secret}, and the events workflow-completed, job-completed or both.",
  ],
});

const COMMIT = "pipeline.vcs.commit";
const TRIGGER = "pipeline.trigger_parameters";

function authorOf(payload: unknown): string {
  return lineAt(
    payload,
    `${COMMIT}.author.name`,
    `${TRIGGER}.gitlab.commit_author_name`,
    `${TRIGGER}.gitlab.user_name`,
  );
}

function emailOf(payload: unknown): string {
  return lineAt(payload, `${COMMIT}.author.email`, `${TRIGGER}.gitlab.commit_author_email`);
}

function outcomeOf(status: string): string {
  if (status === "success") return "succeeded";
  return status === "error" ? "ended with an error" : happened(status);
}

function message({ payload }: PresetEvent): string {
  const job = lineAt(payload, "job.name");
  const what = job === "" ? headline("workflow", lineAt(payload, "workflow.name")) : headline("job", job);
  const revision = lineAt(payload, "pipeline.vcs.revision", `${TRIGGER}.git.checkout_sha`);
  return messageOf(
    titled(
      headline(
        "CircleCI:",
        what,
        phrase("of", lineAt(payload, "project.slug")),
        outcomeOf(textAt(payload, "job.status", "workflow.status")),
      ),
      lineAt(payload, `${COMMIT}.subject`, `${TRIGGER}.gitlab.commit_title`),
    ),
    labeled("Workflow", job === "" ? "" : lineAt(payload, "workflow.name")),
    labeled("Author", authorOf(payload)),
    labeled("Branch", lineAt(payload, "pipeline.vcs.branch", `${TRIGGER}.git.branch`)),
    labeled("Tag", lineAt(payload, "pipeline.vcs.tag", `${TRIGGER}.git.tag`)),
    labeled("Commit", shortSha(revision)),
    labeled("Repository", lineAt(payload, "pipeline.vcs.target_repository_url", `${TRIGGER}.gitlab.web_url`)),
    labeled("Ended", timeText(valueAt(payload, "job.stopped_at") ?? valueAt(payload, "workflow.stopped_at"))),
    lineAt(payload, "workflow.url"),
    idLine(payload, { workflow: "workflow.id", job: "job.number", pipeline: "pipeline.number" }),
  );
}
