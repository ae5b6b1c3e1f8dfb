/** Fakes of the platforms that the presets of channels know, at their documented wire formats. */
import type { IncomingMessage } from "node:http";
import { expect } from "vitest";
import type { ChannelUnderTest } from "./describe-channel.ts";
import { HttpPlatform, type HttpPlatformOptions } from "./platform.ts";

const SECRET = "token-of-the-platform-123";
type Json = Readonly<Record<string, unknown>>;

interface KnownPlatform {
  readonly preset: string;
  /** Where the fake is asked; the preset's own URL otherwise. */
  readonly path: string;
  readonly written?: object;
  readonly textOf: (body: Json, req: IncomingMessage) => unknown;
  /** False for a text, or a body, that the platform refuses for its length; otherwise `facts.limit` says it. */
  readonly fits?: (text: string, body: string) => boolean;
  readonly answers: HttpPlatformOptions["answers"];
  readonly facts: Pick<ChannelUnderTest, "limit" | "retryAfterMs" | "problem" | "shown">;
}

const MARKDOWN = { markdown: "**Red** _since_ [build 7](https://ci.example/7) `a<b`", hostile: undefined };
const HTML = {
  markdown: '<b>Red</b> <i>since</i> <a href="https://ci.example/7">build 7</a> <code>a&lt;b</code>',
  hostile: "&lt;b&gt;no&lt;/b&gt; &lt;!channel&gt; @everyone &amp;amp; {{secret}}",
};
const MRKDWN = {
  markdown: "*Red* _since_ <https://ci.example/7|build 7> `a&lt;b`",
  hostile: "&lt;b&gt;no&lt;/b&gt; &lt;!channel&gt; @everyone &amp;amp; {{secret}}",
};

/** Telegram counts what is left when it has read the markup. */
const shown = (html: string): string => html.replaceAll(/<[^>]+>/gu, "").replaceAll(/&\w+;/gu, "&");

const busy = (body: object | string = "", headers = { "retry-after": "7" }) => ({ status: 429, headers, body });
const FAILS = { status: 503, body: "upstream connect error" };

const PLATFORMS: readonly KnownPlatform[] = [
  {
    preset: "telegram",
    path: `/bot{{secret}}/sendMessage`,
    textOf: (body, req) => {
      expect(req.url).toBe(`/bot${SECRET}/sendMessage`);
      expect(body).toMatchObject({ chat_id: "recipient", parse_mode: "HTML" });
      expect(body).not.toHaveProperty("message_thread_id");
      return body["text"];
    },
    fits: (text) => shown(text).length <= 4_096,
    answers: {
      takes: { status: 200, body: { ok: true, result: { message_id: 1 } } },
      "is busy": {
        status: 429,
        body: {
          ok: false,
          error_code: 429,
          description: "Too Many Requests: retry after 7",
          parameters: { retry_after: 7 },
        },
      },
      fails: { status: 502, body: "<html>Bad Gateway</html>" },
      refuses: {
        status: 400,
        body: { ok: false, error_code: 400, description: `Bad Request: chat of ${SECRET} not found` },
      },
    },
    facts: { limit: 4_096, retryAfterMs: 7_000, problem: "400: Bad Request: chat of *** not found", shown: HTML },
  },
  {
    preset: "slack",
    path: "/api/chat.postMessage",
    textOf: (body, req) => {
      expect(req.headers.authorization).toBe(`Bearer ${SECRET}`);
      expect(body["channel"]).toBe("recipient");
      return body["text"];
    },
    answers: {
      takes: { status: 200, body: { ok: true, channel: "C1", ts: "1.2" } },
      "is busy": busy({ ok: false, error: "ratelimited" }),
      fails: FAILS,
      refuses: { status: 200, body: { ok: false, error: "channel_not_found" } },
    },
    facts: { limit: 12_000, retryAfterMs: 7_000, problem: "says that it did not: channel_not_found", shown: MRKDWN },
  },
  {
    preset: "slack-webhook",
    path: "/services/T/B/secret-part",
    textOf: (body) => body["text"],
    answers: {
      takes: { status: 200, body: "ok" },
      "is busy": busy(),
      fails: FAILS,
      refuses: { status: 404, body: "no_service" },
    },
    facts: { limit: 12_000, retryAfterMs: 7_000, problem: "it answered 404", shown: MRKDWN },
  },
  {
    preset: "discord",
    path: "/api/webhooks/1/secret-part",
    textOf: (body, req) => {
      expect(req.url).toBe("/api/webhooks/1/secret-part?wait=true");
      expect(body["allowed_mentions"]).toEqual({ parse: [] });
      return body["content"];
    },
    answers: {
      takes: { status: 200, body: { id: "1", content: "" } },
      "is busy": { status: 429, body: { message: "You are being rate limited.", retry_after: 6.5, global: false } },
      fails: FAILS,
      refuses: { status: 404, body: { message: "Unknown Webhook", code: 10_015 } },
    },
    facts: { limit: 2_000, retryAfterMs: 6_500, problem: "404: Unknown Webhook", shown: MARKDOWN },
  },
  {
    preset: "teams",
    path: "/workflows/secret-part",
    textOf: (body) => {
      const [card] = body["attachments"] as { content: { body: { text: string }[] } }[];
      return card!.content.body[0]!.text;
    },
    fits: (_, body) => Buffer.byteLength(body) <= 28_000 && body.length * 2 <= 28_000,
    answers: { takes: { status: 202 }, "is busy": busy(), fails: FAILS, refuses: { status: 400, body: "Bad card" } },
    facts: { limit: 10_000, retryAfterMs: 7_000, problem: "it answered 400", shown: MARKDOWN },
  },
  {
    preset: "ntfy",
    path: "/",
    textOf: (body, req) => {
      expect(req.headers.authorization).toBe(`Bearer ${SECRET}`);
      expect(body).toMatchObject({ topic: "recipient", markdown: true });
      return body["message"];
    },
    fits: (text, body) => Buffer.byteLength(text) < 4_096 && Buffer.byteLength(body) <= 8_192,
    answers: {
      takes: { status: 200, body: { id: "x", event: "message" } },
      "is busy": { status: 429, body: { code: 42_901, http: 429, error: "limit reached: too many requests" } },
      fails: FAILS,
      refuses: { status: 403, body: { code: 40_301, http: 403, error: "forbidden" } },
    },
    facts: { limit: 4_000, retryAfterMs: undefined, problem: "403: forbidden", shown: MARKDOWN },
  },
  {
    preset: "pushover",
    path: "/1/messages.json",
    textOf: (body) => {
      expect(body).toMatchObject({ token: SECRET, user: "recipient", html: 1 });
      return body["message"];
    },
    answers: {
      takes: { status: 200, body: { status: 1, request: "r" } },
      "is busy": busy({ status: 0 }),
      fails: FAILS,
      refuses: { status: 400, body: { user: "invalid", errors: ["user identifier is invalid"], status: 0 } },
    },
    facts: { limit: 1_024, retryAfterMs: 7_000, problem: "400: user identifier is invalid", shown: HTML },
  },
  {
    preset: "mattermost",
    path: "/hooks/secret-part",
    textOf: (body) => {
      expect(body["channel"]).toBe("recipient");
      return body["text"];
    },
    answers: {
      takes: { status: 200, body: "ok" },
      "is busy": busy(),
      fails: FAILS,
      refuses: {
        status: 400,
        body: { id: "web.incoming_webhook.invalid", message: "Invalid webhook", status_code: 400 },
      },
    },
    facts: { limit: 16_000, retryAfterMs: 7_000, problem: "400: Invalid webhook", shown: MARKDOWN },
  },
  {
    preset: "google-chat",
    path: "/v1/spaces/S/messages?key=k&token=secret-part",
    textOf: (body) => body["text"],
    answers: {
      takes: { status: 200, body: { name: "spaces/S/messages/M" } },
      "is busy": busy({ error: { code: 429, message: "Resource has been exhausted", status: "RESOURCE_EXHAUSTED" } }),
      fails: FAILS,
      refuses: { status: 404, body: { error: { code: 404, message: "Space not found" } } },
    },
    facts: { limit: 4_000, retryAfterMs: 7_000, problem: "404: Space not found", shown: MRKDWN },
  },
];

/** Each preset against its platform. */
export const HTTP_CHANNELS: readonly ChannelUnderTest[] = PLATFORMS.map(
  ({ preset, path, written, textOf, fits, answers, facts }) => ({
    name: preset,
    ...facts,
    secrets: [SECRET, "secret-part"],
    open: async () => {
      const platform = await HttpPlatform.listen({
        answers,
        textOf: ({ req, body }) => {
          expect([req.method, req.headers["content-type"]]).toEqual(["POST", "application/json"]);
          const text = String(textOf(JSON.parse(body) as Json, req));
          expect(fits === undefined ? text.length <= facts.limit : fits(text, body)).toBe(true);
          return text;
        },
      });
      return { platform, written: { preset, url: `${platform.url}${path}`, secret: SECRET, ...written } };
    },
  }),
);
