/**
 * The parts of OpenClaw's plugin SDK that the adapter uses, as structural types. The package itself is
 * no dependency: what is called is looked for at the start, by `require-calls.ts`.
 */
import type { IncomingMessage, ServerResponse } from "node:http";

/** The argument of `register(api)`. */
export interface OpenClawApi {
  readonly id: string;
  /** The source from which the host loaded the plugin: its routes are known by that and its id. */
  readonly source?: string;
  /** That of the registration. */
  readonly config?: OpenClawConfig;
  /** Work begins in `full` only; the others read what a plugin registers. */
  readonly registrationMode: string;
  readonly runtime: OpenClawRuntime;
  readonly logger: OpenClawLogger;
  registerService(service: OpenClawService): void;
  /** A route that is there as soon as the host has taken up the plugin. */
  registerHttpRoute?(route: Pick<PluginHttpRoute, "path" | "match" | "auth" | "handler">): void;
  /** Adds findings to `openclaw security audit`. */
  registerSecurityAuditCollector?(
    collect: (context: OpenClawAuditContext) => Promise<readonly OpenClawAuditFinding[]>,
  ): void;
  /** A method of the gateway's RPC, which its clients call; the host checks the scope. */
  registerGatewayMethod?(
    method: string,
    handler: (call: OpenClawMethodCall) => Promise<void>,
    options: { scope: "operator.read" | "operator.write" },
  ): void;
  /** A tool of agents; the factory is asked for each turn, and `null` leaves the tool out. */
  registerTool?(factory: (context: OpenClawToolContext) => OpenClawTool | null, options: { name: string }): void;
  registerReload?(registration: { noopPrefixes: string[] }): void;
  registerCli?(
    register: (context: { readonly program: CliProgram; readonly config: OpenClawConfig }) => void,
    options: { descriptors: { name: string; description: string; hasSubcommands: boolean }[] },
  ): void;
}

export interface OpenClawMethodCall {
  readonly params: Readonly<Record<string, unknown>>;
  readonly respond: (
    ok: boolean,
    payload?: unknown,
    error?: { readonly code: string; readonly message: string },
  ) => void;
}

/** The turn for which a tool is wanted. */
export interface OpenClawToolContext {
  /** Given by the host; no argument of a tool sets it. */
  readonly senderIsOwner?: boolean;
  readonly sessionKey?: string;
}

export interface OpenClawTool {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  /** A JSON Schema. */
  readonly parameters: object;
  execute(
    callId: string,
    params: unknown,
  ): Promise<{
    readonly content: readonly { readonly type: "text"; readonly text: string }[];
    readonly details: object;
  }>;
}

/** The input of a collector of the host's security audit. */
export interface OpenClawAuditContext {
  /** With its references replaced. */
  readonly config: OpenClawConfig;
  /** As it is written. */
  readonly sourceConfig: OpenClawConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly configPath: string;
}

export interface OpenClawAuditFinding {
  readonly checkId: string;
  readonly severity: "info" | "warn" | "critical";
  readonly title: string;
  readonly detail: string;
}

/** The methods in use of the host's own `Command` of commander. */
export interface CliProgram {
  command(name: string): CliProgram;
  description(text: string): CliProgram;
  helpOption(given: false): CliProgram;
  allowUnknownOption(): CliProgram;
  argument(name: string): CliProgram;
  action(run: (args: readonly string[]) => Promise<void>): CliProgram;
}

/** A background service: started once the gateway listens, stopped when it closes or unloads the plugin. */
export interface OpenClawService {
  readonly id: string;
  start(context: OpenClawServiceContext): Promise<void>;
  stop(): Promise<void>;
}

export interface OpenClawServiceContext {
  /** The gateway's state directory. */
  readonly stateDir: string;
  readonly logger: OpenClawLogger;
  readonly serviceHealth?: { reportFailure(error: unknown): void; clearFailure(): void };
}

export interface OpenClawLogger {
  debug?(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

export interface OpenClawRuntime {
  /** The host's version: `2026.9.6`. */
  readonly version?: string;
  readonly config: { current(): OpenClawConfig };
  readonly state: { resolveStateDir(): string };
  readonly system: OpenClawSystem;
  readonly subagent: OpenClawSubagent;
  readonly channel: { readonly outbound: { loadAdapter(id: string): Promise<OutboundAdapter | undefined> } };
  readonly agent?: {
    readonly session?: {
      getSessionEntry?: (query: { sessionKey: string; agentId: string }) => SessionEntry | undefined;
    };
  };
}

export interface OpenClawSystem {
  /** Replaces the event with the same key, if there is one. False when it was not taken, or is there already. */
  enqueueSystemEvent(
    text: string,
    options: { sessionKey: string; agentId: string; contextKey: string; replace: true },
  ): boolean;
  requestHeartbeat(request: {
    source: "hook";
    intent: "immediate";
    reason: string;
    agentId: string;
    sessionKey: string;
    /** Laid over the agent's heartbeat settings for this turn. */
    heartbeat?: { isolatedSession: false };
  }): void;
}

export interface OpenClawSubagent {
  run(request: SubagentRun): Promise<{ readonly runId: string }>;
  waitForRun(query: { runId: string; timeoutMs: number }): Promise<SubagentOutcome>;
  getSessionMessages(query: { sessionKey: string; limit: number }): Promise<{ readonly messages: readonly unknown[] }>;
  /** Ends what runs in the session, and removes it. */
  deleteSession(query: { sessionKey: string }): Promise<void>;
}

export interface SubagentRun {
  readonly sessionKey: string;
  readonly message: string;
  readonly deliver: false;
  readonly lane: string;
  readonly idempotencyKey: string;
  readonly model?: string;
  /** The exact empty set of tools. */
  readonly disableTools?: true;
}

export interface SubagentOutcome {
  /** `timeout` is the end of the run when it has one, else that of the wait; so it is for an unknown run as well. */
  readonly status: "ok" | "error" | "timeout" | "pending";
  readonly error?: string;
  /** Start and end of the run, in milliseconds since the epoch. */
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** With `ok`: the turn has given up its place until something wakes the session again. */
  readonly yielded?: boolean;
  /** True while the host may still try again by itself. */
  readonly pendingError?: boolean;
  readonly stopReason?: string;
  readonly terminalReply?: { readonly text?: string };
}

/** The sending part of a channel; each channel has less or more of it. */
export interface OutboundAdapter {
  readonly textChunkLimit?: number;
  chunker?: ((text: string, limit: number) => string[]) | null;
  sendText?(message: {
    cfg: OpenClawConfig;
    to: string;
    text: string;
    accountId?: string;
    threadId?: string | number;
  }): Promise<unknown>;
}

/** The origin of a session's last message. */
export interface DeliveryContext {
  readonly channel?: string;
  readonly to?: string;
  readonly accountId?: string;
  readonly threadId?: string | number;
}

/** A session of the host's store, with the route of its last message in the form of today or of before. */
export interface SessionEntry {
  /** Of its latest turn: `running`, `done`, `failed`, `killed`, `timeout`. */
  readonly status?: string;
  readonly endedAt?: number;
  /** Of its latest run. */
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cacheRead?: number;
  readonly estimatedCostUsd?: number;
  readonly modelProvider?: string;
  readonly model?: string;
  readonly delivery?: { readonly kind: string; readonly context?: DeliveryContext };
  readonly lastChannel?: string;
  readonly lastTo?: string;
  readonly lastAccountId?: string;
  readonly lastThreadId?: string | number;
}

/** The host's configuration active; read with care, since each version has its own shape. */
export type OpenClawConfig = Readonly<Record<string, unknown>>;

/** The further imports from `openclaw/plugin-sdk/*`. */
export interface OpenClawSdk {
  registerPluginHttpRoute(route: PluginHttpRoute): () => void;
  /** `undefined` in a host that does not export it. */
  readonly peekSystemEventEntries:
    | ((
        sessionKey: string,
        agentId: string,
      ) => readonly { readonly id?: string; readonly text?: string; readonly contextKey?: string | null }[])
    | undefined;
}

export interface PluginHttpRoute {
  readonly path: string;
  readonly match: "prefix";
  /** The part that authenticates a caller: the plugin, or the gateway. */
  readonly auth: "plugin" | "gateway";
  readonly pluginId: string;
  readonly source: string;
  readonly throwOnFailure: true;
  /** Takes the place of a route of the same plugin and source. */
  readonly replaceExisting?: true;
  /** Leaves such a route in its place; throws when there is another's. */
  readonly reuseExistingSameOwner?: true;
  /** Anything but `false` is handled. */
  handler(req: IncomingMessage, res: ServerResponse): Promise<boolean>;
}
