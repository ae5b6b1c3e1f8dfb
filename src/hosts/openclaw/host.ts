import { dirname, join } from "node:path";
import type { TokenUsage } from "../../core/token-usage.ts";
import type { Clock, GatewayHost, HostLifecycle, Logger } from "../../core/host.ts";
import { createLifecycle } from "../shared/lifecycle.ts";
import type { SqliteDatabase } from "../../storage/sqlite/engine/database.ts";
import type { HostSession, LatestTurn } from "./event-queue.ts";
import { memoizePerTick } from "./memoize.ts";
import { OpenClawAgents } from "./agents.ts";
import { OpenClawChannels } from "./channels.ts";
import type { OpenClawSdk, SessionEntry } from "./sdk.ts";
import { agentOf, hostSession } from "./read-config.ts";
import { OpenClawSessions } from "./sessions.ts";
import type { ScopedRuntime } from "./async-context.ts";
import { OpenClawState } from "./state.ts";

export interface OpenClawHostOptions {
  readonly pluginId: string;
  readonly runtime: ScopedRuntime;
  readonly sdk: OpenClawSdk;
  readonly database: SqliteDatabase;
  readonly logger: Logger;
  /** Absolute, private. */
  readonly stateDir: string;
  /** Absolute; the folder of the host's configuration file. */
  readonly configDir: string;
  /** Called with true when no turn takes the events of a session, and with false when one has. */
  readonly onStalled: (session: string, isStalled: boolean) => void;
}

/** OpenClaw as the host contract has it; opened in the start of the plugin's service, closed at its stop. */
export class OpenClawHost implements GatewayHost {
  readonly name = "openclaw";
  readonly lifecycle: HostLifecycle = createLifecycle();
  readonly sessions: OpenClawSessions;
  readonly agents: OpenClawAgents;
  readonly channels: OpenClawChannels;
  readonly logger: Logger;
  readonly paths: GatewayHost["paths"];
  readonly clock: Clock = { now: () => Date.now() };

  constructor(options: OpenClawHostOptions) {
    const { pluginId, runtime, sdk, database, logger, stateDir, configDir, onStalled } = options;
    // Each request asks for it, and the host looks up the plugin's rights with each answer.
    const config = memoizePerTick(() => runtime.config.current());
    const state = new OpenClawState(database, this.clock);
    const { system, subagent } = runtime;
    const peek = sdk.peekSystemEventEntries;
    this.logger = logger;
    this.paths = { stateDir, configDir };
    const { getSessionEntry } = runtime.agent?.session ?? {};
    // Of a host that does not report turns, each counts as ended.
    const latestTurnAt = ({
      sessionKey,
      agentId,
    }: Pick<HostSession, "sessionKey" | "agentId">): LatestTurn | undefined =>
      getSessionEntry === undefined ? { endedAt: Infinity } : getSessionEntry({ sessionKey, agentId });
    const latestTurn = (sessionKey: string): LatestTurn | undefined =>
      latestTurnAt({ sessionKey, agentId: agentOf(sessionKey) });
    const { clock } = this;
    const sessions = { pluginId, config, state, system, peek, latestTurn: latestTurnAt, onStalled, clock, logger };
    this.sessions = new OpenClawSessions(sessions);
    const usageOf = (sessionKey: string): TokenUsage | undefined =>
      usageIn(getSessionEntry?.({ sessionKey, agentId: agentOf(sessionKey) }));
    this.agents = new OpenClawAgents({ pluginId, config, subagent, state, latestTurn, usageOf, logger });
    this.channels = new OpenClawChannels({
      runtime,
      config,
      mainSession: (agentId) => hostSession(config(), this.sessions.mainSessionKey(agentId)),
      state,
    });
  }
}

/** The folder of the host's configuration file: `OPENCLAW_CONFIG_PATH`, else the state directory. */
export function configFolder(stateDir: string, env: NodeJS.ProcessEnv = process.env): string {
  const file = env["OPENCLAW_CONFIG_PATH"]?.trim();
  return file ? dirname(file) : stateDir;
}

/** The plugin's folder below the host's state directory. */
export function stateFolder(stateDir: string, pluginId: string): string {
  return join(stateDir, pluginId);
}

/** What the host says of a session's latest run. */
function usageIn(entry: SessionEntry | undefined): TokenUsage | undefined {
  const { inputTokens, outputTokens, cacheRead, estimatedCostUsd, modelProvider, model } = entry ?? {};
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  const name = [modelProvider, model].filter((part) => part !== undefined).join("/");
  return {
    inputTokens,
    outputTokens,
    ...(name === "" ? {} : { model: name }),
    ...(cacheRead === undefined ? {} : { cachedTokens: cacheRead }),
    ...(estimatedCostUsd === undefined ? {} : { costUsd: estimatedCostUsd }),
  };
}
