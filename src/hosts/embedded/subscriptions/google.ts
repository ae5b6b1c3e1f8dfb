/**
 * The watches of Gmail and of Google Calendar.
 *
 * Source: https://developers.google.com/workspace/gmail/api/reference/rest/v1/users/watch,
 * https://developers.google.com/workspace/calendar/api/v3/reference/events/watch.
 */
import { randomUUID } from "node:crypto";
import { textAt } from "../../../core/payload-text.ts";
import { SenderApiError } from "../errors.ts";
import type { SenderApi } from "./sender-api.ts";
import { type Begun, momentOf, type SubscriptionKind, type SubscriptionWish } from "./subscription.ts";

const TOKEN_URL = "https://oauth2.googleapis.com/token";
const WEEK_SECONDS = 604_800;
const bearer = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` });

/** A mailbox has one watch: each call of it makes it last for a week more. */
export const gmailWatch: SubscriptionKind = {
  preset: "gmail-push",
  title: "Gmail",
  api: "https://gmail.googleapis.com",
  tokenKind: "one with the scope gmail.readonly or gmail.metadata",
  tokenUrl: TOKEN_URL,
  resource: undefined,
  resourceHint: "--resource projects/<project>/topics/<topic>",
  events: ["INBOX"],
  hasSecret: false,
  headersOf: bearer,
  begin: watchMailbox,
  renew: watchMailbox,
  async end(api) {
    await api.call({ method: "POST", path: "/gmail/v1/users/me/stop", act: "end the watch of the mailbox" });
  },
};

async function watchMailbox(api: SenderApi, { resource, events }: SubscriptionWish): Promise<Begun> {
  const { body } = await api.call({
    method: "POST",
    path: "/gmail/v1/users/me/watch",
    body: { topicName: resource, labelIds: events },
    act: `watch the mailbox with the topic ${resource}`,
  });
  return { id: "watch", expiresAt: expirationOf(body) };
}

/** A channel cannot be made to last: another takes its place, then it is ended. */
export const calendarWatch: SubscriptionKind = {
  preset: "google-calendar",
  title: "Google Calendar",
  api: "https://www.googleapis.com",
  tokenKind: "one with the scope calendar.readonly or calendar.events.readonly",
  tokenUrl: TOKEN_URL,
  resource: "primary",
  resourceHint: "--resource <id of the calendar>",
  events: [],
  hasSecret: true,
  headersOf: bearer,
  begin: watchCalendar,
  async renew(api, known) {
    const begun = await watchCalendar(api, known);
    // It would end by itself soon.
    await endChannel(api, known).catch(() => {});
    return begun;
  },
  end: endChannel,
};

async function watchCalendar(api: SenderApi, { url, resource, secret }: SubscriptionWish): Promise<Begun> {
  const id = randomUUID();
  const { body } = await api.call({
    method: "POST",
    path: `/calendar/v3/calendars/${encodeURIComponent(resource)}/events/watch`,
    body: { id, type: "web_hook", address: url, token: secret(), params: { ttl: String(WEEK_SECONDS) } },
    act: `watch the calendar ${resource}`,
  });
  const resourceId = textAt(body, "resourceId").slice(0, 200);
  return { id, expiresAt: expirationOf(body), ...(resourceId === "" ? {} : { resourceId }) };
}

async function endChannel(api: SenderApi, { id, resourceId }: Begun): Promise<void> {
  const body = { id, resourceId };
  await api.call({ method: "POST", path: "/calendar/v3/channels/stop", body, act: `end the channel ${id}` });
}

function expirationOf(body: unknown): number {
  const text = textAt(body, "expiration");
  if (text === "") throw new SenderApiError("Google answered without the end of the watch.");
  return momentOf(text);
}
