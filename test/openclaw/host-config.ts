export interface HostConfigOptions {
  readonly port: number;
  readonly modelUrl: string;
  readonly botApiUrl: string;
  readonly home: string;
  readonly pluginId: string;
  /** The plugin's block; absent when `undefined`. */
  readonly block: unknown;
  /** Folders of plugins that are loaded besides the installed ones. */
  readonly pluginPaths?: readonly string[];
  /** False when nobody gets what is sent to the channel and to nobody in particular; true when absent. */
  readonly hasRecipient?: boolean;
  /** Sections that are added or replaced. */
  readonly more?: object;
}

/** The token of every gateway of these suites. */
export const GATEWAY_TOKEN = "the-gateway-token-of-this-suite";

/** Who gets what is sent to the channel when nobody is named. */
const DEFAULT_RECIPIENT = "12345";

/** A configuration of the host that needs no internet: one agent, one model, Telegram. */
export function hostConfig(options: HostConfigOptions): object {
  const { port, modelUrl, botApiUrl, home, pluginId, block, pluginPaths, hasRecipient = true } = options;
  const model = {
    id: "m",
    name: "m",
    contextWindow: 128_000,
    maxTokens: 4_096,
    input: ["text"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    reasoning: false,
  };
  return {
    gateway: { mode: "local", port, bind: "loopback", auth: { mode: "token", token: GATEWAY_TOKEN } },
    models: {
      mode: "replace",
      catalogRefresh: { enabled: false },
      providers: {
        test: { baseUrl: modelUrl, apiKey: "the-key-of-the-model", api: "openai-completions", models: [model] },
      },
    },
    agents: { defaults: { model: "test/m", workspace: `${home}/workspace`, heartbeat: { every: "0m" } } },
    update: { checkOnStart: false },
    channels: {
      telegram: {
        enabled: true,
        botToken: "1:the-bot-token",
        apiRoot: botApiUrl,
        dmPolicy: "open",
        allowFrom: ["*"],
        ...(hasRecipient ? { defaultTo: DEFAULT_RECIPIENT } : {}),
      },
    },
    plugins: {
      allow: [pluginId, "telegram"],
      ...(pluginPaths === undefined ? {} : { load: { paths: pluginPaths } }),
      entries: {
        [pluginId]: {
          enabled: true,
          subagent: { allowModelOverride: true },
          ...(block === undefined ? {} : { config: block }),
        },
      },
    },
    ...options.more,
  };
}
