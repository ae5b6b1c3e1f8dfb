import { definePreset } from "../../define-preset.ts";
import { authorsAt, eventActor } from "../../event-fields.ts";
import type { EventActor, PresetContext, PresetSample } from "../../preset.ts";
import { lineAt } from "../../message/headline.ts";
import { jiraActor } from "./jira-actor.ts";
import { jiraMessage } from "./jira-message.ts";

/** Jira sends no event that is larger. */
const MAX_BODY_BYTES = 26_214_400;

const user = { accountId: "557058:0a1b2c3d", displayName: "Ada Lund", accountType: "atlassian", active: true };
const issue = {
  id: "10002",
  key: "APP-11",
  self: "https://acme.atlassian.example.com/rest/api/2/issue/10002",
  fields: {
    summary: "Login ends too soon",
    description: "Sessions end after a minute.",
    issuetype: { name: "Bug" },
    priority: { name: "High" },
    status: { name: "To Do" },
    assignee: null,
    project: { key: "APP", name: "App" },
    labels: ["login"],
  },
};

const headers = (identifier: string) => ({
  "user-agent": "Atlassian Webhook HTTP Client",
  "x-atlassian-webhook-identifier": identifier,
});

const samples: Readonly<Record<string, PresetSample>> = {
  issue_created: {
    headers: headers("7d1f0000-0000-4000-8000-000000000001"),
    payload: {
      timestamp: 1_795_176_000_000,
      webhookEvent: "jira:issue_created",
      issue_event_type_name: "issue_created",
      user,
      issue,
    },
  },
  issue_updated: {
    headers: headers("7d1f0000-0000-4000-8000-000000000002"),
    payload: {
      timestamp: 1_795_176_060_000,
      webhookEvent: "jira:issue_updated",
      issue_event_type_name: "issue_generic",
      user,
      issue,
      changelog: {
        id: "10124",
        items: [
          { field: "status", fieldtype: "jira", from: "1", fromString: "To Do", to: "3", toString: "In Progress" },
          { field: "assignee", fieldtype: "jira", from: null, fromString: null, to: "557058", toString: "Ada Lund" },
        ],
      },
    },
  },
  comment_created: {
    headers: headers("7d1f0000-0000-4000-8000-000000000003"),
    payload: {
      timestamp: 1_795_176_120_000,
      webhookEvent: "comment_created",
      comment: { id: "10000", author: user, updateAuthor: user, body: "It also happens on the phone." },
      issue,
    },
  },
};

/** Webhooks of Jira Cloud that an administrator has saved with a secret; Jira signs no others. */
export const jira = definePreset({
  name: "jira",
  title: "Jira Cloud",
  documentation: "https://developer.atlassian.com/cloud/jira/platform/webhooks/",
  auth: { from: "header:x-hub-signature", prefix: "sha256=" },
  secret: { label: "Secret", madeBy: "owner", known: ["It's a Secret to Everybody"] },
  event: "body:webhookEvent",
  deliveryId: { from: "header:x-atlassian-webhook-identifier", signed: false },
  sender: senderOf,
  authors: ({ payload }) => authorsAt(payload, AUTHORS),
  vouchesForActors: true,
  message: ({ event, payload }) => jiraMessage(event, payload),
  mapping: { name: "Jira", links: ["*.atlassian.net"], maxBodyBytes: MAX_BODY_BYTES },
  success: { statuses: "2xx", otherwise: "408, 409, 425, 429 and 5xx: tries up to 5 times; other 4xx: gives up" },
  ignored: "nothing. Automation and other apps are no bots: put the account of your own agent into ignoreActors",
  samples,
  setup: [
    "As a Jira administrator open Settings, System, WebHooks, and choose Create a WebHook.",
    "URL: {url}",
    "{secret}: generate one, for example with openssl rand -hex 32, and set the same as hooks.jira.secret. Without one Jira signs nothing.",
    "Choose the events, with a JQL filter if you like, leave Exclude body unticked, and choose Create.",
  ],
});

const AUTHORS = ["issue.fields.creator", "issue.fields.reporter", "comment.author", "worklog.author"].map((at) => ({
  id: `${at}.accountId`,
}));

function senderOf({ payload }: PresetContext): EventActor | undefined {
  const actor = jiraActor(payload);
  const name = lineAt(actor, "displayName", "name", "accountId");
  const id = lineAt(actor, "accountId");
  return eventActor(name, id);
}
