import type { GatewayHost, GatewayPlugin } from "../../../src/core/host.ts";
import { WebhookIngress } from "../../../src/index.ts";
import type { IngressHooks, MappingConfig } from "../../../src/index.ts";
import { RunningGateway } from "./running-gateway.ts";
import type { GatewaySetup } from "./running-gateway.ts";

/** A gateway with a plugin that taps the ingress's own hooks. */
export function startWith(
  tap: (hooks: IngressHooks, host: GatewayHost) => void,
  hooks: object = {},
  setup: GatewaySetup = {},
) {
  const plugin: GatewayPlugin = { apply: (host) => tap(WebhookIngress.hooks(host), host) };
  return RunningGateway.start({ ...setup, hooks, plugins: [plugin] });
}

const ONCE = { attempts: 1, firstDelayMs: 0, maxDelayMs: 0 };

/** A mapping as a plugin writes one. */
export function mappingConfig(overrides: Partial<MappingConfig>): MappingConfig {
  return {
    id: "of-a-plugin",
    where: "preset of-a-plugin",
    match: { path: "plugged", source: undefined },
    action: "agent",
    wakeMode: "next-heartbeat",
    name: undefined,
    agentId: undefined,
    sessionKey: undefined,
    messageTemplate: "From a plugin: {{text}}",
    textTemplate: undefined,
    forEach: undefined,
    deliver: false,
    allowUnsafeExternalContent: false,
    channel: "last",
    to: undefined,
    model: undefined,
    thinking: undefined,
    timeoutSeconds: undefined,
    maxBodyBytes: undefined,
    accept: ["json"],
    interrupted: undefined,
    transform: undefined,
    preset: undefined,
    settings: {},
    auth: undefined,
    handshakes: [],
    methods: [],
    ignoreActors: [],
    ignoreBots: true,
    events: [],
    when: undefined,
    coalesce: undefined,
    order: "strict",
    overlap: "queue",
    maxAgeMs: undefined,
    priority: "normal",
    concurrency: undefined,
    retry: { runs: ONCE, deliveries: ONCE },
    fallback: undefined,
    budget: undefined,
    respond: { kind: "ordinary" },
    waitMs: undefined,
    mode: "run",
    contentSource: "Webhook",
    ownSessionPrefix: undefined,
    ...overrides,
  };
}
