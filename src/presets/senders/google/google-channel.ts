import type { PresetDefinition } from "../../define-preset.ts";
import type { PresetContext, PresetSample } from "../../preset.ts";
import { lineAt } from "../../message/headline.ts";

/**
 * The notification channels of Google Calendar and Google Drive: everything is in headers, the body is
 * empty, and the token that the channel was made with comes back in each call.
 */
export const googleChannel = {
  auth: { scheme: "secret", from: "header:x-goog-channel-token" },
  secret: { label: "token of the channel", madeBy: "owner" },
  event: "header:x-goog-resource-state",
  deliveryId: { from: ["header:x-goog-channel-id", "header:x-goog-message-number"], signed: false },
  skip: ({ headers }) =>
    lineAt(headers, "x-goog-resource-state") === "sync" ? "Google says that the channel exists now" : undefined,
} as const satisfies Partial<PresetDefinition>;

/** A call of a channel, as Google makes it. */
export function channelSample(state: string, uri: string, more: Readonly<Record<string, string>> = {}): PresetSample {
  return {
    headers: {
      "x-goog-channel-id": "01234567-89ab-4def-8123-456789abcdef",
      "x-goog-channel-expiration": "Fri, 27 Nov 2026 12:00:00 GMT",
      "x-goog-message-number": state === "sync" ? "1" : "10",
      "x-goog-resource-id": "ret08u3rv24htgh289g",
      "x-goog-resource-state": state,
      "x-goog-resource-uri": uri,
      ...more,
    },
    payload: {},
  };
}

/** A part of the path of the watched resource, decoded: `pathPart(context, "calendars")` of `.../calendars/a%40b/events`. */
export function pathPart({ headers }: Pick<PresetContext, "headers">, after: string): string {
  const [path = ""] = lineAt(headers, "x-goog-resource-uri").split("?", 1);
  const parts = path.split("/");
  const at = parts.indexOf(after);
  const part = at === -1 ? "" : (parts[at + 1] ?? "");
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
