import { itemLines, labeled, listAt, memberOf, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { eventActor } from "../event-fields.ts";
import type { EventActor, PresetContext, PresetEvent, PresetSample } from "../preset.ts";
import { asJson } from "../message/data-lines.ts";
import { bodyAt, headline, idLine, lineAt, oneLine, phrase, titled, words } from "../message/headline.ts";
import { shortSha } from "../message/list-lines.ts";
import { plainText } from "../message/value-text.ts";

const ada = { id: "54d125f7-69f7-4191-904f-c5b96b6261c8", displayName: "Ada Byron", uniqueName: "ada@example.com" };
const repository = {
  id: "278d5cd2-584d-4b63-824a-2ba458937249",
  name: "app",
  project: { id: "6ce954b1-ce1f-45d1-b94d-e6bf2464ba2c", name: "Acme" },
  defaultBranch: "refs/heads/main",
  remoteUrl: "https://dev.azure.com/acme/Acme/_git/app",
};

/** Service hooks of Azure DevOps, which log in with user name and password. */
export const azureDevops = definePreset({
  name: "azure-devops",
  title: "Azure DevOps",
  documentation: "https://learn.microsoft.com/en-us/azure/devops/service-hooks/services/webhooks",
  auth: { scheme: "basic" },
  secret: { label: "user name and password", madeBy: "owner" },
  event: "body:eventType",
  deliveryId: { from: ["body:subscriptionId", "body:id"], signed: false },
  sender: senderOf,
  success: {
    statuses: "2xx",
    otherwise: "may try again, and restricts or disables a subscription that fails too often",
  },
  skip: ({ payload }) => (isTest(payload) ? "Azure DevOps tests the subscription" : undefined),
  ignored: "tests of a subscription. Azure DevOps marks no bots",
  mapping: { name: "Azure DevOps", maxBodyBytes: 2_097_152 },
  message,
  samples: {
    "git.pullrequest.created": sample("git.pullrequest.created", "2ab4e3d3-b7a6-425e-92b1-5a9982c1269e", {
      message: "Ada Byron created pull request 42 (Fix login) in app",
      resource: {
        repository,
        pullRequestId: 42,
        status: "active",
        createdBy: ada,
        creationDate: "2026-11-20T11:59:46.589889Z",
        title: "Fix login",
        description: "The session ended too early.",
        sourceRefName: "refs/heads/fix-login",
        targetRefName: "refs/heads/main",
        mergeStatus: "succeeded",
        url: "https://dev.azure.com/acme/_apis/git/repositories/278d5cd2-584d-4b63-824a-2ba458937249/pullRequests/42",
      },
    }),
    "workitem.updated": sample("workitem.updated", "27646e0e-b520-4d2b-9411-bba7524947cd", {
      message: "Bug #5 (Some great new idea!) updated by Ada Byron",
      resource: {
        id: 2,
        workItemId: 5,
        rev: 2,
        revisedBy: ada,
        fields: {
          "System.Rev": { oldValue: 1, newValue: 2 },
          "System.State": { oldValue: "New", newValue: "Approved" },
          "System.AssignedTo": { newValue: "Ada Byron <ada@example.com>" },
        },
        url: "https://dev.azure.com/acme/_apis/wit/workItems/5/updates/2",
        revision: {
          id: 5,
          rev: 2,
          fields: { "System.Title": "Login fails", "System.WorkItemType": "Bug", "System.State": "Approved" },
        },
      },
    }),
    "git.push": sample("git.push", "03c164c2-8912-4d5e-8009-3707d5f83734", {
      message: "Ada Byron pushed updates to app:main",
      resource: {
        commits: [
          {
            commitId: "33b55f7cb7e7e245323987634f960cf4a6e6bc74",
            author: { name: "Ada Byron", email: "ada@example.com", date: "2026-11-20T11:58:00Z" },
            comment: "Fix login",
          },
        ],
        refUpdates: [
          {
            name: "refs/heads/main",
            oldObjectId: "aad331d8d3b131fa9ae03cf5e53965b51942618a",
            newObjectId: "33b55f7cb7e7e245323987634f960cf4a6e6bc74",
          },
        ],
        repository,
        pushedBy: ada,
        pushId: 14,
        date: "2026-11-20T11:59:00Z",
      },
    }),
    "build.complete": sample("build.complete", "4a5d99d6-1c75-4e53-91b9-ee80057d4ce3", {
      message: "Build 20261120.2 failed",
      resource: {
        id: 2727068,
        buildNumber: "20261120.2",
        status: "completed",
        result: "failed",
        reason: "manual",
        sourceBranch: "refs/heads/main",
        sourceVersion: "600c52d2d5b655caa111abfd863e5a9bd304bb0e",
        definition: { id: 2, name: "app-ci" },
        requestedFor: ada,
        _links: { web: { href: "https://dev.azure.com/acme/Acme/_build/results?buildId=2727068" } },
      },
    }),
  },
  setup: [
    "Make up a password, for example with openssl rand -hex 24, and set hooks.azure-devops.secret to <user>:<password>.",
    "In Azure DevOps open the project's settings, Service hooks, and create a subscription of the service Web Hooks for each event.",
    "On the page Action paste {url} as the URL, fill in the {secret}, and send all resource details, messages and detailed messages.",
  ],
});

function sample(
  type: string,
  id: string,
  { message: text, resource }: { message: string; resource: object },
): PresetSample {
  return {
    payload: {
      subscriptionId: "4f6e6328-0251-4814-a009-c01dfa368e3f",
      notificationId: 17,
      id,
      eventType: type,
      publisherId: "tfs",
      message: { text, html: text, markdown: text },
      detailedMessage: { text, html: text, markdown: text },
      resource,
      resourceVersion: "1.0",
      resourceContainers: {
        collection: { id: "c12d0eb8-e382-443b-9f9c-c52cba5014c2", baseUrl: "https://dev.azure.com/acme/" },
        project: { id: "be9b3917-87e6-42a4-a549-2bc06a7a878f" },
      },
      createdDate: "2026-11-20T11:59:57.2879096Z",
    },
  };
}

/** A test comes with this id, and tells of a project that Microsoft invented. */
function isTest(payload: unknown): boolean {
  return lineAt(payload, "subscriptionId") === "00000000-0000-0000-0000-000000000000";
}

const PEOPLE = ["revisedBy", "pushedBy", "createdBy", "requestedFor", "checkedInBy", "lastChangedBy"];

function senderOf({ payload }: PresetContext): EventActor | undefined {
  const resource = valueAt(payload, "resource");
  const author = actorOf(valueAt(resource, "comment.author"));
  if (author !== undefined) return author;
  // Whoever created a pull request need not be the one who votes on it or completes it.
  if (/^git\.pullrequest\.(?:updated|merged)$/u.test(lineAt(payload, "eventType"))) return namedIn(payload);
  const actors = PEOPLE.map((key) => actorOf(valueAt(resource, key)));
  return actors.find((actor) => actor !== undefined) ?? actorOf(memberOf(fieldsOf(resource), "System.ChangedBy"));
}

/** The one with whose name the message begins, of those whom the pull request names; the longest name that fits. */
function namedIn(payload: unknown): EventActor | undefined {
  const text = textAt(payload, "message.text");
  const resource = valueAt(payload, "resource");
  const people = [valueAt(resource, "createdBy"), valueAt(resource, "closedBy"), ...listAt(resource, "reviewers")];
  return people
    .flatMap((person) => actorOf(person) ?? [])
    .filter(({ name }) => text.startsWith(`${name} `))
    .toSorted((one, other) => other.name.length - one.name.length)[0];
}

const NAME_AND_ADDRESS = /^([^<>]*)<([^<>]+)>$/u;

/** A person is an object, or in older fields of work items a text: `Ada Byron <ada@example.com>`. */
function actorOf(person: unknown): EventActor | undefined {
  if (typeof person !== "string") return eventActor(lineAt(person, "displayName"), lineAt(person, "uniqueName", "id"));
  const [, name = person, address = ""] = NAME_AND_ADDRESS.exec(person.trim()) ?? [];
  return eventActor(oneLine(name) || oneLine(address), oneLine(address));
}

/** A comment on a pull request has it beside itself; elsewhere the resource is what the event is about. */
function subjectOf(resource: unknown): unknown {
  return valueAt(resource, "pullRequest") ?? resource;
}

function fieldsOf(resource: unknown): unknown {
  return valueAt(resource, "revision.fields") ?? valueAt(resource, "fields");
}

function message({ payload, event = "" }: PresetEvent): string {
  const resource = valueAt(payload, "resource");
  const said = bodyAt(payload, "message.text") || headline("Azure DevOps:", words(event) || "an event");
  const fields = fieldsOf(resource);
  const about = subjectOf(resource);
  const lines = [
    titled(oneLine(said), lineAt(about, "title") || fieldOf(fields, "System.Title")),
    labeled("Kind", fieldOf(fields, "System.WorkItemType")),
    labeled("State", words(lineAt(about, "result") || lineAt(about, "status") || fieldOf(fields, "System.State"))),
    changesOf(valueAt(resource, "fields")),
    bodyAt(resource, "description"),
    labeled(
      "Comment",
      plainText(bodyAt(resource, "comment.content", "comment.text", "comment") || fieldOf(fields, "System.History")),
    ),
    labeled("Branches", refsOf(about)),
    itemLines(listAt(resource, "commits"), commitLine),
    labeled("Commit", shortSha(lineAt(resource, "sourceVersion"))),
    labeled("Pipeline", lineAt(resource, "definition.name", "pipeline.name")),
    labeled("Repository", lineAt(about, "repository.remoteUrl", "repository.name")),
    lineAt(about, "_links.web.href", "_links.html.href", "url"),
    idLine(resource, {
      "pull request": ["pullRequestId", "pullRequest.pullRequestId"],
      comment: "comment.id",
      // Of an update `id` is the number of the update.
      "work item": ["workItemId", "revision.id", event.startsWith("workitem.") ? "id" : "none"],
      build: lineAt(resource, "buildNumber") === "" ? "none" : "id",
      repository: ["repository.id", "pullRequest.repository.id"],
    }),
  ];
  const known =
    listAt(resource, "commits").length > 0 || textAt(about, "url", "id", "pullRequestId", "workItemId") !== "";
  return messageOf(...lines, known ? "" : asJson(resource ?? payload));
}

/** Names of fields hold dots, which a path would read as steps. */
function fieldOf(fields: unknown, name: string): string {
  return lineAt(memberOf(fields, name), "");
}

const MAX_CHANGES = 12;

/** `System.State: New, now Approved` for each field of an update; numbers of revisions say nothing. */
function changesOf(fields: unknown): readonly string[] {
  if (typeof fields !== "object" || fields === null) return [];
  const changed = Object.entries(fields).filter(
    ([name, change]) =>
      !/^System\.(?:Rev|Watermark|AuthorizedDate|RevisedDate|ChangedDate)$/.test(name) && isChange(change),
  );
  return itemLines(
    changed,
    (item) => {
      const [name, change] = item as [string, unknown];
      const before = lineAt(change, "oldValue.displayName", "oldValue") || "empty";
      return labeled(
        `Changed ${oneLine(name)}`,
        `${before}, now ${lineAt(change, "newValue.displayName", "newValue") || "empty"}`,
      );
    },
    MAX_CHANGES,
  );
}

function isChange(change: unknown): boolean {
  return valueAt(change, "oldValue") !== undefined || valueAt(change, "newValue") !== undefined;
}

function refsOf(resource: unknown): string {
  const source = branchAt(resource, "sourceRefName") || branchAt(resource, "sourceBranch");
  const target = branchAt(resource, "targetRefName");
  return headline(source || branchAt(resource, "refUpdates[0].name"), phrase("into", target));
}

function branchAt(resource: unknown, path: string): string {
  return lineAt(resource, path).replace(/^refs\/(?:heads|tags)\//, "");
}

function commitLine(commit: unknown): string {
  const author = lineAt(commit, "author.name");
  return headline("-", shortSha(lineAt(commit, "commitId")), lineAt(commit, "comment"), author && `(${author})`);
}
