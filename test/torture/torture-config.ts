import type { ScriptedModel } from "./scripted-model.ts";
import type { ScriptedReceiver } from "./scripted-receiver.ts";

export const HOOK_TOKEN = "hook-token-of-the-torture-test";
export const GITHUB_SECRET = "github-secret-of-the-torture-test";
export const STRIPE_SECRET = "whsec_stripe-secret-of-the-torture-test";
export const CONCURRENCY = 8;

/** The configuration of the tortured gateway: a mapping for each way in which a call can live. */
export function tortureConfig(
  model: ScriptedModel,
  receiver: ScriptedReceiver,
  databaseUrl: string | undefined,
): object {
  const quiet = { wakeMode: "next-heartbeat", deliver: false, name: "{{mark}}" };
  const text = "This is {{mark}}, and nothing else.";
  return {
    ...model.config,
    channels: receiver.config,
    hooks: {
      enabled: true,
      ...(databaseUrl !== undefined && { store: { url: databaseUrl } }),
      token: HOOK_TOKEN,
      concurrency: CONCURRENCY,
      allowRequestSessionKey: true,
      allowedSessionKeyPrefixes: ["hook:"],
      mappings: [
        {
          ...quiet,
          id: "github",
          match: { path: "github" },
          preset: "github",
          secret: GITHUB_SECRET,
          sessionKey: "hook:{{lane}}",
          messageTemplate: text,
        },
        {
          ...quiet,
          id: "stripe",
          match: { path: "stripe" },
          preset: "stripe",
          secret: STRIPE_SECRET,
          sessionKey: "hook:{{lane}}",
          messageTemplate: text,
        },
        {
          ...quiet,
          id: "batch",
          match: { path: "batch" },
          forEach: "items",
          name: "{{items[0].mark}}",
          sessionKey: "hook:{{items[0].lane}}",
          messageTemplate: "This is {{items[0].mark}}, and nothing else.",
        },
        {
          ...quiet,
          id: "burst",
          match: { path: "burst" },
          sessionKey: "hook:{{lane}}",
          messageTemplate: text,
          coalesce: { key: "{{lane}}", windowSeconds: 0.3, maxWaitSeconds: 1.5, mode: "list" },
        },
        {
          ...quiet,
          id: "flaky",
          match: { path: "flaky" },
          sessionKey: "hook:{{lane}}",
          messageTemplate: text,
          retry: { attempts: 20, backoffSeconds: 0.1, maxBackoffSeconds: 0.5 },
        },
        {
          ...quiet,
          id: "report",
          match: { path: "report" },
          sessionKey: "hook:{{lane}}",
          messageTemplate: text,
          deliver: true,
          channel: "webhook",
          to: "team",
          retry: { delivery: { attempts: 10, backoffSeconds: 0.1, maxBackoffSeconds: 0.5 } },
        },
      ],
    },
  };
}
