import { definePreset } from "../../define-preset.ts";
import { authorsAt, eventActor, ownActor } from "../../event-fields.ts";
import { textAt } from "../../../core/payload-text.ts";
import type { EventActor, EventAuthor, PresetContext, PresetSample } from "../../preset.ts";
import { lineAt } from "../../message/headline.ts";
import { linearMessage } from "./linear-message.ts";

/** The limit of Linear's own SDK. */
const MAX_BODY_BYTES = 5_242_880;

const actor = { id: "7b2c0000-0000-4000-8000-000000000001", type: "user", name: "Ada Lund", email: "ada@example.com" };
const team = { id: "7b2c0000-0000-4000-8000-000000000002", key: "APP", name: "App" };
const issue = {
  id: "7b2c0000-0000-4000-8000-000000000003",
  identifier: "APP-11",
  number: 11,
  title: "Login ends too soon",
  description: "Sessions end after a minute.",
  priority: 2,
  priorityLabel: "High",
  state: { id: "7b2c0000-0000-4000-8000-000000000004", name: "In Progress", type: "started" },
  team,
  labels: [{ id: "7b2c0000-0000-4000-8000-000000000005", name: "bug" }],
  assignee: { id: actor.id, name: "Ada Lund" },
  url: "https://linear.example.com/acme/issue/APP-11/login-ends-too-soon",
};

const common = {
  organizationId: "7b2c0000-0000-4000-8000-000000000006",
  webhookId: "7b2c0000-0000-4000-8000-000000000007",
  /** 2026-11-20T12:00:00Z; anyone who sends a sample puts the present time here. */
  webhookTimestamp: 1_795_176_000_000,
  createdAt: "2026-11-20T12:00:00.000Z",
};

const headers = (event: string, delivery: string) => ({ "linear-event": event, "linear-delivery": delivery });

const samples: Readonly<Record<string, PresetSample>> = {
  issue: {
    headers: headers("Issue", "9d3e0000-0000-4000-8000-000000000001"),
    payload: { action: "create", type: "Issue", actor, data: issue, url: issue.url, ...common },
  },
  issue_update: {
    headers: headers("Issue", "9d3e0000-0000-4000-8000-000000000002"),
    payload: {
      action: "update",
      type: "Issue",
      actor,
      data: issue,
      updatedFrom: { stateId: "7b2c0000-0000-4000-8000-000000000008", updatedAt: "2026-11-20T11:00:00.000Z" },
      url: issue.url,
      ...common,
    },
  },
  comment: {
    headers: headers("Comment", "9d3e0000-0000-4000-8000-000000000003"),
    payload: {
      action: "create",
      type: "Comment",
      actor,
      data: {
        id: "7b2c0000-0000-4000-8000-000000000009",
        body: "It also happens on the phone.",
        issue: { id: issue.id, identifier: "APP-11", title: issue.title },
        user: { id: actor.id, name: "Ada Lund" },
      },
      url: `${issue.url}#comment-7b2c0000`,
      ...common,
    },
  },
};

/** Webhooks of Linear workspaces and apps. The time of sending is in the signed body, in milliseconds. */
export const linear = definePreset({
  name: "linear",
  title: "Linear",
  text: "markdown",
  documentation: "https://linear.app/developers/webhooks",
  auth: {
    from: "header:linear-signature",
    timestamp: { from: "body:webhookTimestamp", unit: "milliseconds", toleranceSeconds: 60 },
  },
  secret: { label: "Signing secret", madeBy: "sender", minLength: 16 },
  event: ["body:type", "body:action"],
  deliveryId: { from: "header:linear-delivery", signed: false },
  sender: senderOf,
  authors: authorsOf,
  vouchesForActors: true,
  message: ({ event, payload }) => linearMessage(event, payload),
  mapping: { name: "Linear", links: ["linear.app"], maxBodyBytes: MAX_BODY_BYTES },
  success: {
    statuses: "200 only, within 5 seconds",
    otherwise: "tries again after 1 minute, 1 hour and 6 hours, and may disable the webhook",
  },
  ignored:
    "what the app does that the webhook belongs to. Integrations such as Slack and Sentry and other apps are no bots: put the account of your own agent into ignoreActors",
  samples,
  setup: [
    "Open Linear's Settings, API, and under Webhooks choose New webhook.",
    "URL: {url}",
    "Choose the data change events and teams, and create the webhook.",
    "Copy the {secret} from the webhook's page, and set it as hooks.linear.secret.",
    "If the agent writes to Linear, put the name or id of the account or app that it acts as into hooks.linear.ignoreActors.",
  ],
});

const AUTHORS = [
  "data.creatorId",
  "data.userId",
  "data.user.id",
  "data.parent.userId",
  "agentSession.creatorId",
  "agentSession.comment.userId",
  "notification.comment.userId",
].map((id) => ({ id }));

/** The context of a session holds the issue and its comments, and does not say in a form to rely on who wrote which. */
function authorsOf({ payload }: PresetContext): readonly EventAuthor[] {
  const isContext = textAt(payload, "promptContext", "agentSession.promptContext") !== "";
  return [...authorsAt(payload, AUTHORS), ...(isContext ? [{}] : [])];
}

/** Events for an app have no `actor`: whoever wrote in a session, started it or caused the notice acts. */
const PEOPLE = ["actor", "agentActivity.user", "agentSession.creator", "notification.actor"] as const;
const NAMES = ["name", "service", "email"] as const;

function senderOf({ payload }: PresetContext): EventActor | undefined {
  const namesOf = (person: string): string => lineAt(payload, ...NAMES.map((key) => `${person}.${key}`));
  const person = PEOPLE.find((each) => namesOf(each) !== "") ?? "actor";
  const name = namesOf(person) || lineAt(payload, "data.user.name");
  const id = lineAt(payload, `${person}.id`);
  // Integrations and other apps act for people: an issue from Slack or Sentry is news.
  const isOwn = id !== "" && [textAt(payload, "oauthClientId"), textAt(payload, "appUserId")].includes(id);
  return isOwn ? ownActor(name, id) : eventActor(name, id);
}
