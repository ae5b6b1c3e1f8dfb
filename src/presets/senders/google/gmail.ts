import type { GmailConfig } from "../../../config/gmail.ts";
import { definePreset } from "../../define-preset.ts";

/** Prefix of every session key this preset derives; nothing else can be reached through it. */
const SESSION_PREFIX = "hook:gmail:";

/** Bytes that a mail's headers and its JSON add to its body. */
const MAIL_OVERHEAD_BYTES = 8_192;
/** A byte of a mail takes at most three in JSON that escapes it as the watcher does. */
const BYTES_PER_BODY_BYTE = 3;
const MAILS_PER_REQUEST = 100;
const DEFAULT_MAX_BYTES = 20_000;
const MIN_BODY_BYTES = 262_144;
const MAX_BODY_BYTES = 33_554_432;

/**
 * New mail as a Gmail watcher posts it: `{ messages: [{ id, from, subject, snippet, body }] }`.
 *
 * Each mail is a run of its own in a session of its own. The derived session keys cannot leave
 * `hook:gmail:`, so the preset works without any further setting. Its settings are `hooks.gmail`.
 */
export const gmail = definePreset({
  name: "gmail",
  title: "Gmail watcher",
  documentation: "https://developers.google.com/workspace/gmail/api/guides/push",
  auth: { scheme: "token" },
  mapping(settings) {
    const options = settings as Partial<GmailConfig>;
    const mailBytes = BYTES_PER_BODY_BYTE * (options.maxBytes ?? DEFAULT_MAX_BYTES) + MAIL_OVERHEAD_BYTES;
    const bodyBytes = MAILS_PER_REQUEST * mailBytes;
    return {
      name: "Gmail",
      sessionKey: `${SESSION_PREFIX}{{messages[0].id}}`,
      messageTemplate: [
        "New email from {{messages[0].from}}",
        "Subject: {{messages[0].subject}}",
        "{{messages[0].snippet}}",
        "{{messages[0].body}}",
      ].join("\n"),
      forEach: "messages",
      allowUnsafeExternalContent: options.allowUnsafeExternalContent ?? false,
      model: options.model,
      thinking: options.thinking,
      maxBodyBytes: Math.max(MIN_BODY_BYTES, Math.min(MAX_BODY_BYTES, bodyBytes)),
      contentSource: "Email",
      ownSessionPrefix: SESSION_PREFIX,
    };
  },
  success: { statuses: "2xx", otherwise: "depends on the watcher" },
  ignored: "nothing",
  samples: {
    message: {
      payload: {
        messages: [
          {
            id: "18c",
            from: "Ada <ada@example.org>",
            subject: "Hello",
            snippet: "I wanted to ask",
            body: "Dear you, ...",
          },
        ],
      },
    },
  },
  setup: ["Let the watcher post to {url} with the hook token as Authorization: Bearer."],
});
