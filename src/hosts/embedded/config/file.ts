/** The embedded gateway's configuration after validation: every default filled in. */
import type { Permissions } from "../../../core/agent-rights.ts";
import type { ProgramRuntime } from "./runtime.ts";
import type { ToolsConfig } from "./tools.ts";
import type { ChannelsConfig } from "./channels.ts";
import type { ExposeConfig } from "./expose.ts";
import type { McpConfig } from "./mcp.ts";
import type { TelemetryConfig } from "./telemetry.ts";

export interface GatewayConfig {
  /** Absolute path of the file it was read from. */
  readonly file: string;
  readonly gateway: {
    /** 0: a free port. */
    readonly port: number;
    /** The address to listen on. */
    readonly host: string;
    /** True when that address can be reached from this machine alone. */
    readonly loopbackOnly: boolean;
    /** At least one; any of them is accepted (rotation). */
    readonly authTokens: readonly string[];
    readonly mcp: McpConfig;
    readonly trustedProxies: readonly string[];
    /** The tool that gives the hooks a public URL; absent: none. */
    readonly expose?: ExposeConfig | undefined;
    /** Time that a shutdown waits for runs. */
    readonly shutdownMs: number;
  };
  readonly agents: AgentsConfig;
  readonly models: ModelsConfig;
  readonly session: SessionConfig;
  readonly channels: ChannelsConfig;
  readonly plugins: PluginsConfig;
  readonly telemetry: TelemetryConfig;
  /** The plugin's block, unvalidated. */
  readonly hooks: unknown;
  /** Files that hold secrets, absolute: closed to confined programs. */
  readonly secretFiles: readonly string[];
}

export interface SessionConfig {
  readonly mainKey: string;
  /** Time for which the transcripts of isolated runs are kept. */
  readonly isolatedRetentionMs: number;
  /** Bytes that they may count for together; `undefined`: no bound. */
  readonly isolatedMaxBytes: number | undefined;
}

export interface AgentsConfig {
  /** At least one; exactly one is the default. */
  readonly list: readonly AgentConfig[];
  /** Aliases and model references runs may use; `undefined`: no allowlist. */
  readonly allowedModels: readonly AllowedModel[] | undefined;
  /** 0: no periodic heartbeat. */
  readonly heartbeatEveryMs: number;
  readonly timeoutMs: number;
}

export interface AgentConfig {
  readonly id: string;
  readonly isDefault: boolean;
  /** Model reference `<provider>/<model>`; `undefined`: the built-in offline agent answers. */
  readonly model: string | undefined;
  readonly systemPrompt: string | undefined;
  readonly thinking: string | undefined;
  /** The program that carries out its turns; absent: a model does. */
  readonly runtime?: ProgramRuntime | undefined;
  /** The tools of its model; absent: none. */
  readonly tools?: ToolsConfig | undefined;
  /** True: its session may wait for events. */
  readonly waits?: boolean | undefined;
  readonly permissions: Permissions;
  /** Lets runs of hooks use the permissions `all`. */
  readonly allowUntrusted: boolean;
  /** How long a question waits for its answer. */
  readonly approvalTimeoutMs: number;
  /** Hosts that its confined programs can reach. */
  readonly egress: readonly string[];
  /** The reason why it is set aside: a secret of its tools is missing. Absent: it runs. */
  readonly broken?: string | undefined;
}

export interface AllowedModel {
  /** `<provider>/<model>`. */
  readonly ref: string;
  readonly alias: string | undefined;
}

export interface ModelsConfig {
  readonly providers: ReadonlyMap<string, ProviderConfig>;
}

/** An OpenAI-compatible endpoint. */
export interface ProviderConfig {
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** The reason why it is set aside: a secret is missing. Absent: it can be asked. */
  readonly broken?: string | undefined;
}

export interface PluginsConfig {
  /** Folders or files of plugins, absolute. */
  readonly load: readonly string[];
  /** Options of each plugin by its id. */
  readonly entries: ReadonlyMap<string, PluginEntryConfig>;
}

export interface PluginEntryConfig {
  readonly enabled: boolean;
  readonly config: unknown;
}
