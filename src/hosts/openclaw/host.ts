import { dirname, join } from "node:path";
import type { Clock, GatewayHost, HostLifecycle, Logger } from "../../core/host.ts";
import { createLifecycle } from "../shared/lifecycle.ts";
import type { SqliteDatabase } from "../../storage/sqlite/engine/database.ts";
import type { LatestTurn } from "./event-queue.ts";
import { memoizePerTick } from "./memoize.ts";
import { OpenClawAgents } from "./agents.ts";
import { OpenClawChannels } from "./channels.ts";
import type { OpenClawSdk } from "./sdk.ts";
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
    const { pluginId, runtime, sdk, database, logger, stateDir, configDir } = options;
    // Each request asks for it, and the host looks up the plugin's rights with each answer.
    const config = memoizePerTick(() => runtime.config.current());
    const state = new OpenClawState(database, this.clock);
    const { system, subagent } = runtime;
    const peek: OpenClawSdk["peekSystemEventEntries"] = (sessionKey) => sdk.peekSystemEventEntries(sessionKey);
    this.logger = logger;
    this.paths = { stateDir, configDir };
    const { getSessionEntry } = runtime.agent?.session ?? {};
    // Of a host that does not tell of turns, each is taken to have ended.
    const latestTurn = (sessionKey: string): LatestTurn | undefined =>
      getSessionEntry === undefined
        ? { endedAt: Infinity }
        : getSessionEntry({ sessionKey, agentId: agentOf(sessionKey) });
    const { clock } = this;
    this.sessions = new OpenClawSessions({ pluginId, config, state, system, peek, latestTurn, clock, logger });
    this.agents = new OpenClawAgents({ pluginId, config, subagent, state, latestTurn, logger });
    this.channels = new OpenClawChannels({
      runtime,
      config,
      mainSessionKey: (agentId) => this.sessions.mainSessionKey(agentId),
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

/** The agent of a full session key: `agent:<id>:<rest>`. */
function agentOf(sessionKey: string): string {
  return sessionKey.split(":")[1] ?? "";
}
