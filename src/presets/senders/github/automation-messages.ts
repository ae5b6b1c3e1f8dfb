import { itemLines, labeled, listAt, textAt, valueAt } from "../../../core/payload-text.ts";
import type { MessageLines } from "../../../core/payload-text.ts";
import { bodyAt, capitalized, headline, lineAt, oneLine, phrase, spoken, titled } from "../../message/headline.ts";
import { commitLine } from "./code-messages.ts";
import { didTo, linkAt, refName } from "./github-view.ts";
import type { GithubView } from "./github-view.ts";

const CONCLUSIONS: ReadonlyMap<string, string> = new Map([
  ["success", "succeeded"],
  ["failure", "failed"],
  ["error", "failed"],
  ["neutral", "ended without a verdict"],
  ["cancelled", "was cancelled"],
  ["skipped", "was skipped"],
  ["stale", "became stale"],
  ["timed_out", "timed out"],
  ["action_required", "needs someone to act"],
  ["startup_failure", "could not start"],
  ["queued", "is queued"],
  ["pending", "is pending"],
  ["waiting", "is waiting"],
  ["in_progress", "is in progress"],
  ["inactive", "is inactive now"],
  ["requested", "was requested"],
  ["rerequested", "was requested again"],
  ["requested_action", "was asked to act"],
  ["created", "was created"],
  ["completed", "is complete"],
  ["checks_requested", "waits for its checks"],
]);

/** Workflows, checks, deployments and commit statuses. */
export const AUTOMATION_MESSAGES: Readonly<Record<string, (view: GithubView) => MessageLines>> = {
  workflow_run: workflowRun,
  workflow_job: workflowJob,
  workflow_dispatch: (view) => [
    didTo(view, headline("started workflow", lineAt(view.payload, "workflow"), onBranch(view, "ref"))),
    inputsOf(view.payload),
    linkAt(view.payload, "repository"),
  ],
  check_run: checkRun,
  check_suite: checkSuite,
  deployment,
  deployment_status: deploymentStatus,
  status,
};

function workflowRun(view: GithubView): MessageLines {
  const { payload } = view;
  const number = lineAt(payload, "workflow_run.run_number");
  const name = lineAt(payload, "workflow_run.name", "workflow.name");
  const actor = lineAt(payload, "workflow_run.triggering_actor.login", "workflow_run.actor.login", "sender.login");
  const trigger = spoken(lineAt(payload, "workflow_run.event"));
  return [
    titled(
      headline(
        "Workflow",
        name,
        number && `#${number}`,
        outcome(view, "workflow_run"),
        onBranch(view, "workflow_run.head_branch"),
        view.where,
      ),
      lineAt(payload, "workflow_run.display_title"),
    ),
    labeled("Started by", headline(actor, trigger && `(${trigger})`)),
    commitLine(textAt(payload, "workflow_run.head_sha"), textAt(payload, "workflow_run.head_commit.message")),
    linkAt(payload, "workflow_run", "workflow", "repository"),
  ];
}

function workflowJob(view: GithubView): MessageLines {
  const { payload } = view;
  const failed = listAt(payload, "workflow_job.steps").filter((step) => valueAt(step, "conclusion") === "failure");
  return [
    headline(
      "Job",
      lineAt(payload, "workflow_job.name"),
      phrase("of workflow", lineAt(payload, "workflow_job.workflow_name")),
      outcome(view, "workflow_job"),
      onBranch(view, "workflow_job.head_branch"),
      view.where,
    ),
    labeled("Started by", lineAt(payload, "sender.login")),
    itemLines(failed, (step) => labeled("Failed step", lineAt(step, "name"))),
    commitLine(textAt(payload, "workflow_job.head_sha"), ""),
    linkAt(payload, "workflow_job", "repository"),
  ];
}

function checkRun(view: GithubView): MessageLines {
  const { payload } = view;
  return [
    titled(
      headline(
        "Check",
        lineAt(payload, "check_run.name"),
        outcome(view, "check_run"),
        onBranch(view, "check_run.check_suite.head_branch"),
        view.where,
      ),
      lineAt(payload, "check_run.output.title"),
    ),
    labeled("Started by", lineAt(payload, "sender.login")),
    bodyAt(payload, "check_run.output.summary"),
    labeled("Requested action", lineAt(payload, "requested_action.identifier")),
    commitLine(textAt(payload, "check_run.head_sha"), ""),
    textAt(payload, "check_run.html_url", "check_run.details_url", "repository.html_url"),
  ];
}

function checkSuite(view: GithubView): MessageLines {
  const { payload } = view;
  const app = lineAt(payload, "check_suite.app.name");
  return [
    headline(
      "Check suite",
      phrase("of", app),
      outcome(view, "check_suite"),
      onBranch(view, "check_suite.head_branch"),
      view.where,
    ),
    labeled("Started by", lineAt(payload, "sender.login")),
    commitLine(textAt(payload, "check_suite.head_sha"), textAt(payload, "check_suite.head_commit.message")),
    linkAt(payload, "repository"),
  ];
}

function deployment(view: GithubView): MessageLines {
  const { payload } = view;
  return [
    didTo(view, headline("started a deployment", deployed(payload))),
    bodyAt(payload, "deployment.description"),
    commitLine(textAt(payload, "deployment.sha"), ""),
    linkAt(payload, "workflow_run", "repository"),
  ];
}

function deploymentStatus(view: GithubView): MessageLines {
  const { payload } = view;
  const state = lineAt(payload, "deployment_status.state");
  return [
    headline("Deployment", deployed(payload), CONCLUSIONS.get(state) ?? phrase("is", spoken(state)), view.where),
    labeled("Started by", lineAt(payload, "deployment.creator.login", "sender.login")),
    bodyAt(payload, "deployment_status.description", "deployment.description"),
    labeled("Site", textAt(payload, "deployment_status.environment_url")),
    textAt(payload, "deployment_status.log_url", "deployment_status.target_url", "repository.html_url"),
  ];
}

function deployed(payload: unknown): string {
  return headline(
    phrase("of", lineAt(payload, "deployment.ref")),
    phrase("to", lineAt(payload, "deployment_status.environment", "deployment.environment")),
  );
}

function status(view: GithubView): MessageLines {
  const { payload } = view;
  const state = lineAt(payload, "state");
  return [
    titled(
      headline(
        "Check",
        lineAt(payload, "context"),
        CONCLUSIONS.get(state) ?? phrase("is", spoken(state)),
        onBranch(view, "branches[0].name"),
        view.where,
      ),
      lineAt(payload, "description"),
    ),
    labeled("Reported by", lineAt(payload, "sender.login")),
    commitLine(textAt(payload, "sha"), textAt(payload, "commit.commit.message")),
    textAt(payload, "target_url", "commit.html_url", "repository.html_url"),
  ];
}

/** The conclusion of a run, or its progress. */
function outcome({ payload, action }: GithubView, key: string): string {
  const conclusion = lineAt(payload, `${key}.conclusion`);
  const progress = action === "completed" || action === "" ? lineAt(payload, `${key}.status`) || action : action;
  const state = conclusion || progress;
  return CONCLUSIONS.get(state) ?? phrase("is", spoken(state));
}

function onBranch({ payload }: GithubView, path: string): string {
  return phrase("on", oneLine(refName(textAt(payload, path))));
}

function inputsOf(payload: unknown): readonly string[] {
  const inputs = valueAt(payload, "inputs");
  if (typeof inputs !== "object" || inputs === null) return [];
  return itemLines(Object.keys(inputs), (name) =>
    labeled(capitalized(oneLine(String(name))), lineAt(inputs, String(name))),
  );
}
