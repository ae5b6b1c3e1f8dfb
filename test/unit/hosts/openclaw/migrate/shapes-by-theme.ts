import { IN_BOUNDARY, IN_SANDBOX, NO_WATCHER, ONE_MODEL } from "./expected-shape.ts";
import type { Expected } from "./expected-shape.ts";

/** Blocks of any version. */
export const SHAPES_BY_THEME: Readonly<Record<string, Expected>> = {
  "agents-as-entries": {
    block: {
      token: "recorded-hook-token-of-entries",
      allowedAgentIds: ["Night_Watch"],
      requireAllowedAgent: true,
      mappings: [
        { match: { path: "night" }, agentId: "Night_Watch", messageTemplate: "Night: {{text}}", deliver: false },
        { match: { path: "nobody" }, agentId: "desk", messageTemplate: "Nobody: {{text}}", deliver: false },
      ],
    },
    written: [
      'hooks.mappings[0].agentId: is written as "Night_Watch", as the agent is configured.',
      'hooks.mappings[1].agentId: is written as "desk": no agent is called "nobody".',
      'hooks.allowedAgentIds[0]: is written as "Night_Watch", as the agent is configured.',
    ],
  },
  "channel-not-set-up": {
    block: {
      token: "recorded-hook-token-of-a-channel",
      mappings: [
        {
          match: { path: "teams" },
          messageTemplate: "To teams: {{text}}",
          channel: "msteams",
          to: "room",
          deliver: false,
        },
        {
          match: { path: "discord" },
          messageTemplate: "To discord: {{text}}",
          channel: "discord",
          to: "room",
          deliver: false,
        },
      ],
    },
    lost: [
      "hooks.mappings[0].channel: is not set up in channels, so no reply could be sent there: deliver: false is written. Set the channel up and remove that to have it back.",
    ],
  },
  "custom-path": { block: { token: "recorded-hook-token-of-a-path", path: "in/webhooks/" } },
  "gmail-mapping-of-ones-own": {
    block: {
      token: "recorded-hook-token-of-mails",
      mappings: [
        {
          id: "mails",
          match: { path: "gmail" },
          messageTemplate: "Mail from {{messages[0].from}}",
          deliver: false,
          maxBodyBytes: 6_819_200,
          model: "test/m",
          allowUnsafeExternalContent: true,
        },
      ],
    },
    written: [ONE_MODEL],
    behavior: [NO_WATCHER],
  },
  models: {
    block: {
      token: "recorded-hook-token-of-models",
      mappings: [
        { match: { path: "reference" }, model: "test/m", messageTemplate: "By reference: {{text}}", deliver: false },
        { match: { path: "alias" }, model: "test/m", messageTemplate: "By alias: {{text}}", deliver: false },
        { match: { path: "gone" }, messageTemplate: "Gone: {{text}}", deliver: false },
      ],
    },
    written: ['hooks.mappings[1].model: is written as "test/m", which the alias means.', ONE_MODEL],
    lost: [
      "hooks.mappings[2].model: names a model that OpenClaw lets no one choose, so it is left out and the agent's own model is used; add it to agents.defaults.modelPolicy.allow (before 2026.8.1: agents.defaults.models) and write the key into our block to have it back.",
    ],
  },
  "models-from-payloads": {
    block: {
      token: "recorded-hook-token-of-choices",
      mappings: [
        { match: { path: "choice" }, model: "{{model}}", messageTemplate: "Choice: {{text}}", deliver: false },
      ],
    },
    written: [
      "plugins.entries.reveille.subagent: lets runs choose any model, since hooks.mappings[0].model cannot be known beforehand; narrow it with allowedModels.",
    ],
  },
  "plugins-on-a-list": {
    block: { token: "recorded-hook-token-of-a-list" },
    written: [
      "plugins.entries.reveille.enabled: was false and is true now.",
      "plugins.allow: names reveille as well: OpenClaw loads only what is on the list.",
    ],
  },
  "shadowed-mappings": {
    block: {
      token: "recorded-hook-token-of-shadows",
      mappings: [
        { id: "one", match: { path: "one" }, messageTemplate: "First: {{text}}", deliver: false },
        { id: "one-2", match: { path: "one" }, messageTemplate: "Second: {{text}}", deliver: false },
        { id: "rest", messageTemplate: "Rest at {{path}}: {{text}}", deliver: false },
      ],
    },
    written: ['hooks.mappings[1].id: is "one-2", since an earlier mapping has the id as well.'],
    lost: [
      "hooks.presets[0]: is left out: OpenClaw has no preset of that name and passes over it. To take calls of that sender, see: openclaw reveille presets",
    ],
  },
  "token-from-the-environment": { block: { token: "${RECORDED_HOOK_TOKEN}" } },
  transforms: {
    block: {
      token: "recorded-hook-token-of-transforms",
      transformsDir: "mine",
      mappings: [
        {
          id: "shaped",
          match: { path: "shaped" },
          transform: { module: "shape.mjs", export: "shape" },
          deliver: false,
        },
        { id: "skipped", match: { path: "skipped" }, action: "wake", transform: { module: "skip.mjs" } },
      ],
    },
    behavior: [
      `hooks.mappings[0].transform: ${IN_SANDBOX}`,
      `hooks.mappings[1]: ${IN_BOUNDARY}`,
      `hooks.mappings[1].transform: ${IN_SANDBOX}`,
    ],
  },
  "unsafe-content": {
    block: {
      token: "recorded-hook-token-of-trust",
      mappings: [
        {
          match: { path: "cron" },
          messageTemplate: "Do {{task}} with {{headers.authorization}}",
          allowUnsafeExternalContent: true,
          deliver: false,
        },
        { match: { path: "tick" }, action: "wake", textTemplate: "Tick {{n}}", allowUnsafeExternalContent: true },
      ],
    },
    behavior: [
      "hooks.mappings[0]: {{headers.authorization}} and other headers that carry a credential print nothing: the token stays hidden.",
    ],
  },
  "wake-next-heartbeat": {
    block: {
      token: "recorded-hook-token-of-wakes",
      mappings: [
        {
          id: "later",
          match: { path: "later" },
          action: "wake",
          wakeMode: "next-heartbeat",
          textTemplate: "Later: {{text}}",
        },
        { id: "now", match: { path: "now" }, action: "wake", textTemplate: "Now: {{text}}" },
      ],
    },
    behavior: [`hooks.mappings[0]: ${IN_BOUNDARY}`, `hooks.mappings[1]: ${IN_BOUNDARY}`],
  },
};
