import { definePreset } from "../define-preset.ts";
import { batchEvent, batchId } from "../event-fields.ts";
import { itemLines, joinText, labeled, listAt, memberOf, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { headline, lineAt, titled } from "../message/headline.ts";

/** The request of a lifecycle notification. */
const LIFECYCLE: Readonly<Record<string, string>> = {
  reauthorizationRequired: "Renew the subscription (PATCH /subscriptions/{id}) or reauthorize it soon, or it ends.",
  subscriptionRemoved: "The subscription is gone; make it again and read what changed meanwhile.",
  missed: "Notifications were lost; read what changed from the resource itself.",
};

/** One request may hold many notifications. */
const MAX_BODY_BYTES = 1_048_576;

const VALIDATION = {
  verified: false,
  reply: { status: 200, text: "{query:validationToken}" },
} as const;

/**
 * Change and lifecycle notifications of Microsoft Graph. They are not signed: every one of them carries
 * the `clientState` of its subscription. Tokens of rich notifications (`validationTokens`) are not read.
 */
export const microsoftGraph = definePreset({
  name: "microsoft-graph",
  title: "Microsoft Graph",
  documentation: "https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks",
  auth: { scheme: "secret", from: "body:value[].clientState" },
  secret: {
    label: "clientState",
    madeBy: "owner",
    known: ["secretClientState", "SecretClientState", "secretClientValue", "<secretClientState>"],
  },
  handshakes: [
    { name: "validation token", when: { "query:validationToken": true }, emptyBody: true, ...VALIDATION },
    {
      name: "validation token",
      method: "GET",
      when: { "query:validationToken": true },
      onlyKeys: ["validationToken"],
      ...VALIDATION,
    },
  ],
  event: ({ payload }) => batchEvent(listAt(payload, "value").map(nameOf)),
  eventWhere: "type and changeType of every change, or its lifecycleEvent",
  deliveryId: {
    from: ({ payload }) => batchId(listAt(payload, "value").map(idOf)),
    where: "body:value[].id, or subscription, change and version of the resource",
    signed: false,
  },
  answer: { status: 202 },
  mapping: { name: "Microsoft Graph", maxBodyBytes: MAX_BODY_BYTES },
  message({ payload }) {
    const changes = listAt(payload, "value");
    if (changes.length === 1) return messageOf(`Microsoft Graph: ${titleOf(changes[0])}`, detailsOf(changes[0]));
    return messageOf(
      changes.length === 0
        ? "Microsoft Graph: a notification without changes"
        : `Microsoft Graph: ${changes.length} changes`,
      itemLines(changes, (change) => titled(titleOf(change), lineAt(change, "resource"))),
    );
  },
  success: {
    statuses: "2xx, within 3 seconds; 202 is recommended",
    otherwise: "tries again for up to 4 hours, then drops the notification",
  },
  ignored: "nothing. Graph marks no bots",
  samples: {
    "message.created": {
      payload: {
        value: [
          {
            id: "lsgTZMr9KwAAA",
            subscriptionId: "7f1c5a30-1f5e-4a56-9f0e-3d1c2b7a9e10",
            subscriptionExpirationDateTime: "2026-11-27T11:00:00.0000000Z",
            clientState: "made-up-client-state-of-the-sample",
            changeType: "created",
            resource: "Users/4c1f0d7e-0a44-4f0e-8f4f-9a1d5f8e2b61/Messages/AAMkAGUwNjQ4ZjIx",
            tenantId: "84bd8158-6d4d-4958-8b9f-9d6445542f95",
            resourceData: {
              "@odata.type": "#Microsoft.Graph.Message",
              "@odata.id": "Users/4c1f0d7e-0a44-4f0e-8f4f-9a1d5f8e2b61/Messages/AAMkAGUwNjQ4ZjIx",
              "@odata.etag": 'W/"CQAAABYAAADkrWGo7bouTKlsgTZMr9KwAAAUWRHf"',
              id: "AAMkAGUwNjQ4ZjIx",
            },
          },
        ],
      },
    },
    two_changes: {
      payload: {
        value: ["created", "updated"].map((changeType) => ({
          subscriptionId: "7f1c5a30-1f5e-4a56-9f0e-3d1c2b7a9e10",
          clientState: "made-up-client-state-of-the-sample",
          changeType,
          resource: `Users/4c1f0d7e-0a44-4f0e-8f4f-9a1d5f8e2b61/Events/AAMk-${changeType}`,
          resourceData: {
            "@odata.type": "#Microsoft.Graph.Event",
            "@odata.etag": `W/"${changeType}"`,
            id: `AAMk-${changeType}`,
          },
        })),
      },
    },
    "lifecycle.reauthorizationRequired": {
      payload: {
        value: [
          {
            subscriptionId: "7f1c5a30-1f5e-4a56-9f0e-3d1c2b7a9e10",
            subscriptionExpirationDateTime: "2026-11-20T13:00:00.0000000Z",
            tenantId: "84bd8158-6d4d-4958-8b9f-9d6445542f95",
            clientState: "made-up-client-state-of-the-sample",
            lifecycleEvent: "reauthorizationRequired",
          },
        ],
      },
    },
  },
  setup: [
    "Choose a {secret} of 16 to 128 characters, for example with openssl rand -hex 32, and set it as hooks.microsoft-graph.secret.",
    "Start the gateway: Graph calls {url}?validationToken=... while the subscription is made.",
    'Make the subscription: POST https://graph.microsoft.com/v1.0/subscriptions with {"changeType":"created","notificationUrl":"{url}","lifecycleNotificationUrl":"{url}","resource":"me/mailFolders(\'Inbox\')/messages","expirationDateTime":"<up to 7 days ahead for mail>","clientState":"<{secret}>"}',
    "Renew it before it expires: PATCH https://graph.microsoft.com/v1.0/subscriptions/<id> with a new expirationDateTime.",
  ],
});

/** `#Microsoft.Graph.Message` is a `message`. */
function kindOf(change: unknown): string {
  const type = annotation(change, "@odata.type");
  const name = type.slice(type.lastIndexOf(".") + 1);
  return name.slice(0, 1).toLowerCase() + name.slice(1);
}

/** Names of annotations hold a dot, which no path can write. */
function annotation(change: unknown, name: string): string {
  return lineAt(memberOf(valueAt(change, "resourceData"), name), "");
}

function nameOf(change: unknown): string {
  const lifecycle = lineAt(change, "lifecycleEvent");
  return lifecycle === "" ? joinText(".", kindOf(change), lineAt(change, "changeType")) : `lifecycle.${lifecycle}`;
}

/** Without an id of its own a change is identified by the version of its resource, or not at all. */
function idOf(change: unknown): string {
  const id = textAt(change, "id");
  if (id !== "") return id;
  const etag = annotation(change, "@odata.etag");
  if (etag === "") return "";
  return headline(textAt(change, "subscriptionId"), lineAt(change, "changeType"), lineAt(change, "resource"), etag);
}

function titleOf(change: unknown): string {
  const lifecycle = lineAt(change, "lifecycleEvent");
  if (lifecycle !== "") return `the subscription needs attention, ${lifecycle}`;
  return headline(kindOf(change) || "resource", lineAt(change, "changeType") || "changed");
}

function detailsOf(change: unknown): readonly string[] {
  const lifecycle = lineAt(change, "lifecycleEvent");
  return [
    Object.hasOwn(LIFECYCLE, lifecycle) ? LIFECYCLE[lifecycle]! : "",
    labeled("Resource", lineAt(change, "resource")),
    labeled("Subscription", textAt(change, "subscriptionId")),
    labeled("Expires", textAt(change, "subscriptionExpirationDateTime")),
  ];
}
