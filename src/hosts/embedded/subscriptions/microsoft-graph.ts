/**
 * Subscriptions of Microsoft Graph.
 *
 * Source: https://learn.microsoft.com/en-us/graph/api/resources/subscription.
 */
import { textAt } from "../../../core/payload-text.ts";
import { SenderApiError } from "../errors.ts";
import type { SenderApi } from "./sender-api.ts";
import { type Begun, momentOf, type SubscriptionKind, type SubscriptionWish } from "./subscription.ts";

/** Mail, events and contacts may last longer; this is short enough for most kinds of resources. */
const LIFETIME_MS = 4_230 * 60_000;

export const microsoftGraphKind: SubscriptionKind = {
  preset: "microsoft-graph",
  title: "Microsoft Graph",
  api: "https://graph.microsoft.com",
  tokenKind: "one of an app that may read what is watched, such as Mail.Read",
  tokenUrl: "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token",
  scope: "https://graph.microsoft.com/.default",
  resource: "me/mailFolders('Inbox')/messages",
  resourceHint: "--resource \"users/<id>/mailFolders('Inbox')/messages\"",
  events: ["created"],
  hasSecret: true,
  headersOf: (token) => ({ authorization: `Bearer ${token}` }),
  begin,
  async renew(api, known) {
    try {
      const { body } = await api.call({
        method: "PATCH",
        path: pathOf(known.id),
        body: { expirationDateTime: expiration() },
        act: `renew the subscription ${known.id}`,
      });
      return { id: known.id, expiresAt: momentOf(textAt(body, "expirationDateTime")) };
    } catch (error) {
      if (error instanceof SenderApiError && error.status === 404) return begin(api, known);
      throw error;
    }
  },
  async end(api, { id }) {
    await api.call({ method: "DELETE", path: pathOf(id), act: `end the subscription ${id}` });
  },
};

async function begin(api: SenderApi, { url, resource, events, secret }: SubscriptionWish): Promise<Begun> {
  const { body } = await api.call({
    method: "POST",
    path: "/v1.0/subscriptions",
    body: {
      changeType: events.join(","),
      notificationUrl: url,
      lifecycleNotificationUrl: url,
      resource,
      expirationDateTime: expiration(),
      clientState: secret(),
    },
    act: `make a subscription of ${resource}`,
  });
  const id = textAt(body, "id");
  if (!/^[\w-]{1,200}$/u.test(id))
    throw new SenderApiError("Microsoft Graph answered without the id of the subscription.");
  return { id, expiresAt: momentOf(textAt(body, "expirationDateTime")) };
}

function pathOf(id: string): string {
  return `/v1.0/subscriptions/${encodeURIComponent(id)}`;
}

function expiration(): string {
  return new Date(Date.now() + LIFETIME_MS).toISOString();
}
