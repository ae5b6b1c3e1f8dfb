/** What is known of the chat platforms and push services that take a message as one HTTP request. */

/** How the text of a message, which is markdown, is written for a platform. */
export const TEXT_FORMATS = ["markdown", "html", "mrkdwn", "plain"] as const;
export type TextFormat = (typeof TEXT_FORMATS)[number];

/**
 * What of a formatted text counts against the limit: its UTF-16 units, those that are left without the markup, or the
 * bytes of UTF-8 that it has in a JSON body.
 */
type TextMeasure = "chars" | "shown" | "bytes";

/** A channel as data; every text is a template (see `channels/http.ts`). */
export interface HttpChannelData {
  readonly url: string;
  readonly method: "POST" | "PUT";
  /** Added to the URL; one whose value is empty is left out. */
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as JSON; a key whose text is a single placeholder without a value is left out. */
  readonly json?: unknown;
  /** The body as text, where it is no JSON. */
  readonly body?: string | undefined;
  readonly format: TextFormat;
  /** A text that is longer once it is formatted is sent in parts. */
  readonly maxChars: number;
  /** What `maxChars` counts; `chars` when absent. */
  readonly measure?: TextMeasure | undefined;
  /** Path of what says in a JSON answer that the message was taken; a 2xx alone is enough without it. */
  readonly ok?: string | undefined;
  /** Path of the problem in a JSON answer. */
  readonly problem?: string | undefined;
  /** Problems with which the same message may be taken later, where the status does not say so. */
  readonly passing?: readonly string[] | undefined;
  /** Path of the seconds after which the message may be sent again; the header `Retry-After` goes before it. */
  readonly retryAfter?: string | undefined;
}

/** A platform: the data of its channel, and what its owner has to give. */
export interface HttpChannelPreset extends Partial<Omit<HttpChannelData, "json">> {
  readonly json: unknown;
  /** The keys that the configuration must have. */
  readonly needs: readonly ("url" | "secret" | "to")[];
}

/** Its markup has been tried by the platforms' documentation; the limits are theirs, by the measure of each. */
export const HTTP_CHANNEL_PRESETS: Readonly<Record<string, HttpChannelPreset>> = {
  /** https://core.telegram.org/bots/api#sendmessage; `secret` is the token of the bot, `to` a chat. */
  telegram: {
    needs: ["secret"],
    url: "https://api.telegram.org/bot{{secret}}/sendMessage",
    json: {
      chat_id: "{{to}}",
      message_thread_id: "{{threadId}}",
      text: "{{text}}",
      parse_mode: "HTML",
      link_preview_options: { is_disabled: true },
    },
    format: "html",
    maxChars: 4_096,
    measure: "shown",
    ok: "ok",
    problem: "description",
    retryAfter: "parameters.retry_after",
  },
  /** https://docs.slack.dev/reference/methods/chat.postMessage; `secret` is the token of the bot. */
  slack: {
    needs: ["secret"],
    url: "https://slack.com/api/chat.postMessage",
    headers: { authorization: "Bearer {{secret}}" },
    json: { channel: "{{to}}", thread_ts: "{{threadId}}", text: "{{text}}", unfurl_links: false },
    format: "mrkdwn",
    maxChars: 12_000,
    ok: "ok",
    problem: "error",
    // With status 200, as all problems of this API.
    passing: ["ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"],
  },
  /** https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks; the URL is a secret. */
  "slack-webhook": { needs: ["url"], json: { text: "{{text}}" }, format: "mrkdwn", maxChars: 12_000 },
  /** https://discord.com/developers/docs/resources/webhook#execute-webhook; without mentions, whatever the text says. */
  discord: {
    needs: ["url"],
    query: { wait: "true", thread_id: "{{threadId}}" },
    json: { content: "{{text}}", allowed_mentions: { parse: [] } },
    maxChars: 2_000,
    problem: "message",
    retryAfter: "retry_after",
  },
  /**
   * A workflow of Teams that takes a card: https://learn.microsoft.com/power-automate/teams/. The limit is about 28 KB
   * for the whole request. Teams may count it in UTF-16, where a byte of ours can become two.
   */
  teams: {
    needs: ["url"],
    json: {
      type: "message",
      attachments: [
        {
          contentType: "application/vnd.microsoft.card.adaptive",
          content: {
            $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
            type: "AdaptiveCard",
            version: "1.4",
            body: [{ type: "TextBlock", text: "{{text}}", wrap: true }],
          },
        },
      ],
    },
    maxChars: 10_000,
    measure: "bytes",
  },
  /**
   * https://docs.ntfy.sh/publish/#publish-as-json; `to` is the topic, `secret` an access token where one is needed. A
   * message of 4,096 bytes is already an attachment, which a server may refuse; a body of more than 8,192 is refused.
   */
  ntfy: {
    needs: [],
    url: "https://ntfy.sh",
    headers: { authorization: "Bearer {{secret}}" },
    json: { topic: "{{to}}", message: "{{text}}", markdown: true },
    maxChars: 4_000,
    measure: "bytes",
    problem: "error",
  },
  /** https://pushover.net/api; `secret` is the application's token, `to` the key of a user or group. */
  pushover: {
    needs: ["secret"],
    url: "https://api.pushover.net/1/messages.json",
    json: { token: "{{secret}}", user: "{{to}}", message: "{{text}}", html: 1 },
    format: "html",
    maxChars: 1_024,
    ok: "status",
    problem: "errors[0]",
  },
  /** https://developers.mattermost.com/integrate/webhooks/incoming; `to` overrides the channel of the webhook. */
  mattermost: { needs: ["url"], json: { channel: "{{to}}", text: "{{text}}" }, maxChars: 16_000, problem: "message" },
  /** https://developers.google.com/workspace/chat/quickstart/webhooks; the URL is a secret. */
  "google-chat": {
    needs: ["url"],
    json: { text: "{{text}}" },
    format: "mrkdwn",
    maxChars: 4_000,
    problem: "error.message",
  },
};

export const DEFAULT_HTTP_CHANNEL = {
  method: "POST",
  query: {},
  headers: {},
  format: "markdown",
  maxChars: 100_000,
} as const satisfies Partial<HttpChannelData>;
