import { IN_BOUNDARY, IN_ORDER, IN_SANDBOX, NO_WATCHER, ANY_ARRAY, ONE_MODEL } from "./expected-shape.ts";
import type { Expected } from "./expected-shape.ts";

/** Blocks as single versions had them. */
export const SHAPES_BY_VERSION: Readonly<Record<string, Expected>> = {
  "2026.1.29-token-alone": { block: { token: "recorded-hook-token-of-one-29" } },
  "2026.2.12-agent-ids": {
    block: {
      token: "recorded-hook-token-of-two-12",
      defaultSessionKey: "hook:ingress",
      allowRequestSessionKey: false,
      allowedSessionKeyPrefixes: ["hook:"],
      allowedAgentIds: ["ops", "main"],
      requireAllowedAgent: true,
      mappings: [
        {
          id: "alerts",
          match: { path: "alerts" },
          agentId: "ops",
          messageTemplate: "Alert: {{title}}",
          deliver: false,
        },
      ],
    },
    written: [
      'hooks.mappings[0].agentId: is written as "ops", as the agent is configured.',
      'hooks.allowedAgentIds[0]: is written as "ops", as the agent is configured.',
    ],
  },
  "2026.2.26-gmail-tailscale": {
    block: { token: "recorded-hook-token-of-two-26", presets: ["gmail"], gmail: { maxBytes: 20_000 } },
    behavior: [NO_WATCHER],
  },
  "2026.2.9-transform-from-the-config-folder": {
    block: {
      token: "recorded-hook-token-of-two-9",
      mappings: [{ match: { path: "shaped" }, transform: { module: "shape.mjs" }, deliver: false }],
    },
    written: ['hooks.mappings[0].transform.module: is written as "shape.mjs", as seen from the folder of transforms.'],
    behavior: [`hooks.mappings[0].transform: ${IN_SANDBOX}`],
  },
  "2026.3.31-source-path-channel": {
    block: {
      token: "recorded-hook-token-of-three-31",
      mappings: [
        {
          id: "ci",
          match: { path: "/ingest/", source: "ci" },
          name: "CI {{repo}}",
          messageTemplate: "Build of {{repo}} {{result}} [say ci]",
          channel: "telegram",
          to: "777",
          wakeMode: "next-heartbeat",
        },
        {
          id: "deploy",
          match: { path: "ingest", source: "deploy" },
          messageTemplate: "Deployed {{version}} [say deployed]",
          deliver: false,
        },
      ],
    },
    written: ['hooks.mappings[0].channel: is written as "telegram".'],
  },
  "2026.3.31-templated-key-alone": {
    block: {
      token: "recorded-hook-token-of-keys-31",
      allowRequestSessionKey: true,
      allowedSessionKeyPrefixes: ["hook:", "sums:daily"],
      mappings: [
        {
          match: { path: "tickets" },
          sessionKey: "hook:ticket:{{id}}",
          messageTemplate: "Ticket {{id}}: {{subject}}",
          deliver: false,
        },
        { match: { path: "sums" }, sessionKey: "sums:daily", messageTemplate: "Sum up {{day}}", deliver: false },
      ],
    },
    written: [
      'plugins.entries.reveille.config.allowedSessionKeyPrefixes: is ["hook:","sums:daily"], from the keys that are written: a key that is a template needs it, as in OpenClaw since 2026.4.20.',
    ],
    behavior: [`hooks.mappings[0].sessionKey: ${IN_ORDER}`, `hooks.mappings[1].sessionKey: ${IN_ORDER}`],
  },
  "2026.4.20-keys-and-prefixes": {
    block: {
      token: "recorded-hook-token-of-four-20",
      allowRequestSessionKey: true,
      allowedSessionKeyPrefixes: ["hook:", "Ticket:"],
      mappings: [
        {
          match: { path: "tickets" },
          sessionKey: "ticket:{{id}}",
          messageTemplate: "Ticket {{id}}: {{subject}}",
          deliver: false,
        },
      ],
    },
    behavior: [`hooks.mappings[0].sessionKey: ${IN_ORDER}`],
  },
  "2026.5.7-gmail-stock": {
    block: {
      token: "recorded-hook-token-of-five-7",
      presets: ["gmail"],
      allowRequestSessionKey: true,
      allowedSessionKeyPrefixes: ["hook:"],
      gmail: { model: "test/m", thinking: "low", maxBytes: 30_000 },
    },
    written: ['hooks.gmail.model: is written as "test/m", which the alias means.', ONE_MODEL],
    behavior: ["hooks.gmail.thinking: has no effect: OpenClaw lets no plugin choose it."],
  },
  "2026.7.1-body-limit": {
    block: {
      token: "recorded-hook-token-of-seven-1",
      maxBodyBytes: 2_048,
      mappings: [{ match: { path: "long" }, messageTemplate: "Long: {{text}}", timeoutSeconds: 120, deliver: false }],
    },
  },
  "2026.8.2-fan-out": {
    block: {
      token: "recorded-hook-token-of-eight-2",
      mappings: [
        {
          id: "alerts",
          match: { path: "alerts" },
          forEach: "alerts",
          messageTemplate: "Alert {{alerts[0].name}}",
          deliver: false,
        },
      ],
    },
    behavior: [`hooks.mappings[0].forEach: more than 200 items of "alerts" ${ANY_ARRAY}`],
  },
  "2026.8.5-persistent": {
    block: {
      token: "recorded-hook-token-of-eight-5",
      allowedSessionKeyPrefixes: ["hook:"],
      mappings: [
        {
          match: { path: "diary" },
          sessionKey: "hook:diary",
          sessionMode: "persistent",
          messageTemplate: "Note: {{note}}",
          deliver: false,
        },
      ],
    },
    behavior: [`hooks.mappings[0].sessionKey: ${IN_ORDER}`],
  },
  "2026.9.6-everything": {
    block: {
      token: "recorded-hook-token-of-nine-6",
      path: "hooks/",
      defaultSessionKey: "hook:ingress",
      allowRequestSessionKey: true,
      allowedSessionKeyPrefixes: ["hook:"],
      allowedAgentIds: ["*"],
      requireAllowedAgent: true,
      defaultTimeoutSeconds: 900,
      presets: ["gmail"],
      transformsDir: ".",
      mappings: [
        {
          id: "whole",
          match: { path: "whole", source: "recorded" },
          action: "agent",
          wakeMode: "next-heartbeat",
          name: "Whole {{id}}",
          agentId: "ops",
          sessionKey: "hook:whole:{{id}}",
          messageTemplate: "Whole: {{items[0]}} at {{now}}",
          forEach: "items",
          deliver: true,
          allowUnsafeExternalContent: false,
          channel: "last",
          to: "{{recipient}}",
          model: "test/m",
          thinking: "high",
          timeoutSeconds: 300,
        },
        {
          id: "nudge",
          match: { path: "nudge" },
          action: "wake",
          agentId: "ops",
          sessionKey: "hook:nudge",
          textTemplate: "Nudge: {{text}}",
        },
      ],
      gmail: { allowUnsafeExternalContent: false },
    },
    written: [
      "plugins.entries.reveille.config: defaultTimeoutSeconds is 900, after agents.defaults.timeoutSeconds.",
      ONE_MODEL,
    ],
    behavior: [
      `hooks.mappings[0].forEach: more than 200 items of "items" ${ANY_ARRAY}`,
      `hooks.mappings[0].sessionKey: ${IN_ORDER}`,
      "hooks.mappings[0].thinking: has no effect: OpenClaw lets no plugin choose it, and the agent's own level is used.",
      `hooks.mappings[1]: ${IN_BOUNDARY}`,
      NO_WATCHER,
    ],
  },
};
