/** The parts of the embedded gateway below its plugins. */
import { dirname } from "node:path";
import { HostError } from "../../core/host.ts";
import type { ChannelMessage, Clock, GatewayHost, Logger, SystemEvent } from "../../core/host.ts";
import type { SqliteDatabase } from "../../storage/sqlite/engine/database.ts";
import { SqliteError } from "../../storage/sqlite/engine/errors.ts";
import { EmbeddedAgents } from "./agents.ts";
import { EmbeddedChannels } from "./channels.ts";
import type { GatewayConfig } from "./config/file.ts";
import { createLifecycle } from "../shared/lifecycle.ts";
import { type HostStore, type HostStoreOptions, openHostStore } from "../shared/open-store.ts";
import { EmbeddedHeartbeat } from "./heartbeat.ts";
import { limitShutdownTaps } from "./plugins/shutdown.ts";
import { EmbeddedSessions } from "./sessions.ts";
import { StartError } from "./errors.ts";
import { STATE_MODULE_URL } from "./state/sqlite-module.ts";
import { TranscriptRetention } from "./state/transcript-retention.ts";

export interface GatewayParts {
  readonly database: SqliteDatabase;
  readonly openDeliveryStore: HostStore["openDeliveryStore"];
  readonly sessions: EmbeddedSessions;
  readonly channels: EmbeddedChannels;
  readonly heartbeat: EmbeddedHeartbeat;
  readonly retention: TranscriptRetention;
  /**
   * A host object with lifecycle hooks of its own, for plugins that are applied together: their own
   * hooks hang on it. All else is the same in each.
   */
  readonly createHost: () => GatewayHost;
}

export interface GatewayPartsOptions {
  /** The configuration active, asked again at each use. */
  readonly config: () => GatewayConfig;
  /** Absolute; made with mode 0700 when it does not exist. */
  readonly stateDir: string;
  readonly acceptLoss?: boolean | undefined;
  /** Prints a message of the channel `console`. */
  readonly print?: ((message: ChannelMessage) => void) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Opens the database, in which all state is, and puts the parts together. */
export async function openGatewayParts(options: GatewayPartsOptions): Promise<GatewayParts> {
  const { config, stateDir, acceptLoss, print, clock, logger } = options;
  const { database, openDeliveryStore } = await openStore({
    stateDir,
    stateModule: STATE_MODULE_URL,
    logger,
    acceptLoss,
  });
  const sessions = new EmbeddedSessions({ database, clock, config });
  const agents = new EmbeddedAgents({ config, sessions, logger, stateDir });
  const channels = new EmbeddedChannels({ config, database, sessions, clock, logger, print });
  const heartbeat = new EmbeddedHeartbeat({ sessions, agents, channels, config, clock, logger });
  const retention = new TranscriptRetention({ sessions, logger });
  const shared: Omit<GatewayHost, "lifecycle"> = {
    name: "embedded",
    sessions: {
      mainSessionKey: (agentId) => sessions.mainSessionKey(agentId),
      enqueueSystemEvent: (event) => enqueue(event, sessions, heartbeat),
      requestHeartbeat: (request) => {
        heartbeat.request(request);
      },
    },
    agents,
    channels,
    logger,
    paths: { configDir: dirname(config().file), stateDir },
    clock,
  };
  const createHost = (): GatewayHost => {
    const lifecycle = createLifecycle();
    limitShutdownTaps(lifecycle.onShutdown, { clock, logger });
    return { ...shared, lifecycle };
  };
  return { database, openDeliveryStore, sessions, channels, heartbeat, retention, createHost };
}

async function openStore(options: HostStoreOptions): Promise<HostStore> {
  try {
    return await openHostStore(options);
  } catch (error) {
    if (error instanceof SqliteError) throw new StartError(error.message, { cause: error });
    throw error;
  }
}

/**
 * A session that can take no more events is given a turn, also when the periodic heartbeat is off:
 * otherwise nothing would ever make room, and the runs whose summaries wait would wait permanently.
 */
async function enqueue(
  event: SystemEvent,
  sessions: EmbeddedSessions,
  heartbeat: Pick<EmbeddedHeartbeat, "request">,
): Promise<void> {
  try {
    await sessions.enqueueSystemEvent(event);
  } catch (error) {
    const { sessionKey } = event;
    const agentId = sessions.agentOfMainSession(sessionKey);
    if (agentId !== undefined && error instanceof HostError && error.retryable) {
      heartbeat.request({ agentId, sessionKey, reason: "too many pending events" });
    }
    throw error;
  }
}
