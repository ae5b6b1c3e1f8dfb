/** The parts of the embedded gateway below its plugins. */
import { dirname } from "node:path";
import { HostError } from "../../core/host.ts";
import type { ChannelMessage, Clock, GatewayHost, Logger, SystemEvent } from "../../core/host.ts";
import type { PostgresDatabase, TakeDatabase } from "../../storage/postgres/engine/database.ts";
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
import { ChosenState } from "./state/chosen-state.ts";
import { PostgresState } from "./state/postgres-state.ts";
import { STATE_MODULE_URL } from "./state/sqlite-module.ts";
import { SqliteState } from "./state/sqlite-state.ts";
import type { StateStore } from "./state/state-store.ts";
import { TranscriptRetention } from "./state/transcript-retention.ts";

export interface GatewayParts {
  readonly database: SqliteDatabase;
  readonly state: ChosenState;
  readonly openDeliveryStore: HostStore["openDeliveryStore"];
  /** Decides where the state is: before that, no part can read or write it. */
  readonly takeDatabase: TakeDatabase;
  readonly sessions: EmbeddedSessions;
  readonly approvals: Approvals;
  readonly channels: EmbeddedChannels;
  readonly heartbeat: EmbeddedHeartbeat;
  /**
   * Sends what the outbox has, begins heartbeats and the removal of what is old once this gateway carries out the
   * runs: while another one on the same store does, it does all that.
   */
  readonly start: (leading: Promise<void>) => void;
  /** Ends them and every program of an agent; the databases stay open. */
  readonly stop: (deadlineMs: number) => Promise<void>;
  /** Closes the databases. */
  readonly close: () => Promise<void>;
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
  const state = new ChosenState();
  const sessions = new EmbeddedSessions({ state, clock, config });
  const channels = new EmbeddedChannels({ config, state, sessions, clock, logger, print });
  const approvals = new Approvals({
    state,
    clock,
    logger,
    queue: async (agentId, message) => {
      await channels.queueForOwner(agentId, message);
      heartbeat.wakeSender();
    },
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
      eventWrite: (event, turn) =>
        sessions.eventWrite(event, turn && heartbeat.remembers(turn.sessionKey) ? undefined : turn),
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
  let removal: NodeJS.Timeout | undefined;
  let isStopped = false;
  const begin = (): void => {
    if (isStopped) return;
    heartbeat.start();
    retention.start();
    removeCopies();
    removal = setInterval(removeCopies, HOUR_MS).unref();
  };
  const start = (leading: Promise<void>): void => void leading.then(begin);
  const end = async (deadlineMs: number): Promise<void> => {
    isStopped = true;
    clearInterval(removal);
    await heartbeat.stop(deadlineMs);
    await retention.stop();
  };
  const stop = async (deadlineMs: number): Promise<void> => {
    await end(deadlineMs);
    await turns.close();
  };
  let remote: PostgresDatabase | undefined;
  const takeDatabase: TakeDatabase = async (found) => {
    remote = found;
    const local = new SqliteState(database);
    if (found === undefined) state.choose(local);
    else {
      state.choose(new PostgresState(found));
      await warnOfLeft(local, state, logger);
      // What this gateway began, another one begins again: it must not end here as well.
      void found.writer.replaced.then(() => end(clock.now()));
    }
    await approvals.start();
  };
  const close = async (): Promise<void> => {
    await remote?.close();
    await database.close();
  };
  const own = { database, state, openDeliveryStore, takeDatabase, sessions, approvals, channels, heartbeat };
  return { ...own, start, stop, close, createHost };
}

/** Says that the state folder has sessions which no gateway reads any more. */
async function warnOfLeft(local: StateStore, chosen: StateStore, logger: Logger): Promise<void> {
  const isEmpty = async (state: StateStore) => (await state.read("list", { limit: 1 })).sessions.length === 0;
  if ((await isEmpty(local)) || !(await isEmpty(chosen))) return;
  logger.warn({}, "the sessions and the outbox in the state folder are not used: reveille move carries them over");
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
 * A main session that can take few more events or none is given a turn, also when the periodic heartbeat is off:
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
  const makeRoom = (): void => {
    const { sessionKey } = event;
    const agentId = sessions.agentOfMainSession(sessionKey);
    if (agentId !== undefined) heartbeat.request({ agentId, sessionKey, reason: "many pending events" });
  };
  try {
    if ((await sessions.enqueueSystemEvent(event)) === "filling") makeRoom();
  } catch (error) {
    if (error instanceof HostError && error.retryable) makeRoom();
    throw error;
  }
}
