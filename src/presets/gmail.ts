import type { Preset } from "./preset.ts";

/** Prefix of every session key this preset derives; nothing else can be reached through it. */
const SESSION_PREFIX = "hook:gmail:";

/** What a mail's headers and its JSON clothing add to its body, in bytes. */
const MAIL_OVERHEAD_BYTES = 8_192;
/** A byte of a mail takes at most three in JSON that escapes it as the watcher does. */
const BYTES_PER_BODY_BYTE = 3;
const MAILS_PER_REQUEST = 100;
const MIN_BODY_BYTES = 262_144;
const MAX_BODY_BYTES = 33_554_432;

/**
 * New mail as a Gmail watcher posts it: `{ messages: [{ id, from, subject, snippet, body }] }`.
 *
 * Each mail is a run of its own in a session of its own. The derived session keys cannot leave
 * `hook:gmail:`, so the preset works without any further setting.
 */
export const gmail: Preset = {
  name: "gmail",
  mappings({ gmail: options }) {
    const bodyBytes = MAILS_PER_REQUEST * (BYTES_PER_BODY_BYTE * options.maxBytes + MAIL_OVERHEAD_BYTES);
    return [
      {
        id: "gmail",
        where: "preset gmail",
        match: { path: "gmail", source: undefined },
        action: "agent",
        wakeMode: "now",
        name: "Gmail",
        agentId: undefined,
        sessionKey: `${SESSION_PREFIX}{{messages[0].id}}`,
        messageTemplate: [
          "New email from {{messages[0].from}}",
          "Subject: {{messages[0].subject}}",
          "{{messages[0].snippet}}",
          "{{messages[0].body}}",
        ].join("\n"),
        textTemplate: undefined,
        forEach: "messages",
        deliver: true,
        allowUnsafeExternalContent: options.allowUnsafeExternalContent ?? false,
        channel: "last",
        to: undefined,
        model: options.model,
        thinking: options.thinking,
        timeoutSeconds: undefined,
        maxBodyBytes: Math.max(MIN_BODY_BYTES, Math.min(MAX_BODY_BYTES, bodyBytes)),
        accept: ["json"],
        interrupted: undefined,
        transform: undefined,
        contentSource: "Email",
        ownSessionPrefix: SESSION_PREFIX,
      },
    ];
  },
};
