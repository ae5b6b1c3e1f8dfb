/** The parts of the embedded gateway below its plugins. */
import { dirname } from "node:path";
import { HostError } from "../../core/host.ts";
import type { ChannelMessage, Clock, GatewayHost, Logger, SystemEvent } from "../../core/host.ts";
import type { SqliteDatabase } from "../../storage/sqlite/engine/database.ts";
import { SqliteError } from "../../storage/sqlite/engine/errors.ts";
import { EmbeddedAgents } from "./agents.ts";
import { AgentTurns } from "./agents/agent-turns.ts";
import { Approvals } from "./agents/approvals.ts";
import { removeLeftovers, removeOldCopies } from "./agents/copies.ts";
import { answerCommand, type OwnerCommands } from "./agents/owner-commands.ts";
import { DEFAULT_MODEL_TURN_LIMITS } from "./agents/model-turn.ts";
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
  readonly approvals: Approvals;
  readonly channels: EmbeddedChannels;
  readonly heartbeat: EmbeddedHeartbeat;
  /**
   * Sends what the outbox has; begins heartbeats, and the removal of what is old, once this gateway carries out the
   * runs: while another one on the same store does, the sessions are there.
   */
  readonly start: (leading: Promise<void>) => void;
  /** Ends them and every program of an agent; the database stays open. */
  readonly stop: (deadlineMs: number) => Promise<void>;
  /**
   * A host object with lifecycle hooks of its own, for plugins that are applied together: their own
   * hooks hang on it. All else is the same in each.
   */
  readonly createHost: () => GatewayHost;
}

export interface GatewayPartsOptions extends Pick<HostStoreOptions, "acceptLoss" | "compact" | "onUpdate"> {
  /** The configuration active, asked again at each use. */
  readonly config: () => GatewayConfig;
  /** Absolute; made with mode 0700 when it does not exist. */
  readonly stateDir: string;
  /** Prints a message of the channel `console`. */
  readonly print?: ((message: ChannelMessage) => void) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Carries out the owner's decision on a held delivery. */
  readonly decide: OwnerCommands["decide"];
}

const HOUR_MS = 3_600_000;

/** Opens the database, in which all state is, and puts the parts together. */
export async function openGatewayParts(options: GatewayPartsOptions): Promise<GatewayParts> {
  const { config, stateDir, acceptLoss, compact, onUpdate, print, clock, logger, decide } = options;
  const { database, openDeliveryStore } = await openStore({
    stateDir,
    stateModule: STATE_MODULE_URL,
    logger,
    acceptLoss,
    compact,
    onUpdate,
  });
  const sessions = new EmbeddedSessions({ database, clock, config });
  const channels = new EmbeddedChannels({ config, database, sessions, clock, logger, print });
  const approvals = new Approvals({
    database,
    clock,
    logger,
    send: (agentId, message) => channels.sendToOwner(agentId, message),
  });
  const turns = new AgentTurns({ config, approvals, logger, clock, stateDir, limits: DEFAULT_MODEL_TURN_LIMITS });
  const agents = new EmbeddedAgents({ config, sessions, logger, turns });
  const heartbeat = new EmbeddedHeartbeat({ sessions, agents, channels, config, clock, logger });
  const retention = new TranscriptRetention({ sessions, logger });
  const shared: Omit<GatewayHost, "lifecycle"> = {
    name: "embedded",
    sessions: {
      checkOutgoing: (check) => sessions.checkOutgoing(check),
      mainSessionKey: (agentId) => sessions.mainSessionKey(agentId),
      enqueueSystemEvent: (event) => enqueue(event, { sessions, heartbeat, channels, approvals, decide }),
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
  const removeCopies = (): void => {
    void removeOldCopies(clock.now() - config().session.isolatedRetentionMs, { stateDir, logger });
  };
  await removeLeftovers({ stateDir, logger });
  await approvals.start();
  let removal: NodeJS.Timeout | undefined;
  let isStopped = false;
  const begin = (): void => {
    if (isStopped) return;
    heartbeat.start();
    retention.start();
    removeCopies();
    removal = setInterval(removeCopies, HOUR_MS).unref();
  };
  const start = (leading: Promise<void>): void => {
    heartbeat.wakeSender();
    void leading.then(begin);
  };
  const stop = async (deadlineMs: number): Promise<void> => {
    isStopped = true;
    clearInterval(removal);
    await heartbeat.stop(deadlineMs);
    await retention.stop();
    await turns.close();
  };
  return { database, openDeliveryStore, sessions, approvals, channels, heartbeat, start, stop, createHost };
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
  {
    sessions,
    heartbeat,
    channels,
    ...commands
  }: Pick<GatewayParts, "sessions" | "heartbeat" | "channels"> & OwnerCommands,
): Promise<void> {
  const answer = event.owner && (await answerCommand(event.text, commands));
  if (event.owner && answer !== undefined) {
    await channels.queue({ ...event.owner, text: answer, idempotencyKey: `command:${event.idempotencyKey}` });
    heartbeat.wakeSender();
    return;
  }
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
