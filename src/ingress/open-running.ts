/** Puts the parts together that live as long as the store is open. */
import { createSecretKey } from "node:crypto";
import { join } from "node:path";
import type { GatewayHost } from "../core/host.ts";
import { checkOutgoing } from "../core/outgoing/check-outgoing.ts";
import { Dispatcher } from "../dispatch/dispatcher.ts";
import { openGatewayKey } from "../dispatch/gateway-key.ts";
import { OutageRegistry } from "../dispatch/notify/outage-registry.ts";
import type { Outages } from "../dispatch/context.ts";
import { OwnerNotices } from "../dispatch/notify/owner-notices.ts";
import { AgentRunner } from "../dispatch/run/agent-runner.ts";
import { CALLBACK_TIMEOUT_MS } from "../dispatch/run/callback.ts";
import { BRIEF_RETRY } from "../dispatch/run/retry.ts";
import { TurnExchange } from "../dispatch/turns/turn-exchange.ts";
import { RunWatch } from "../dispatch/run-watch.ts";
import { createGuardedFetch } from "../http/guarded-fetch.ts";
import type { DeliveryStore } from "../storage/delivery-store.ts";
import type { SharedFacts, TurnOffer } from "../storage/shared-store.ts";
import type { ActiveConfig } from "./active-config.ts";
import { type ApprovalOptions, ApprovingEvents } from "./approve.ts";
import { Around } from "./around.ts";
import { Chains } from "./chains.ts";
import { type IngressContext, observe } from "./context.ts";
import type { ConfigReload } from "./reload.ts";
import { Lead } from "./lead.ts";
import { HookWatch } from "./hook-watch.ts";
import { DeliveryOperations } from "./operations/deliveries.ts";
import { GaugeOperations } from "./operations/gauges.ts";
import { HookOperations } from "./operations/hooks.ts";
import { PreviewOperations } from "./operations/preview.ts";
import { ProbeOperations } from "./operations/probe.ts";
import { QuarantineExpiry } from "./quarantine.ts";
import { ProbeSchedule } from "./probe-schedule.ts";
import { Probes } from "./probes.ts";
import { Retention } from "./operations/retention.ts";
import { StatsOperations } from "./operations/stats.ts";
import { WaitOperations } from "./operations/waits.ts";
import { WaitBook } from "./waits/wait-book.ts";
import { WaitClock } from "./waits/wait-clock.ts";
import { SubscriptionOperations } from "./operations/subscriptions.ts";
import { waitTool } from "./waits/wait-tool.ts";

/** From this many requests in flight, accepting goes before dispatching. */
const BUSY_FROM = 16;

/** In the state directory. */
const KEY_FILE = "gateway.key";

/** An operator's actions. */
export interface Operations {
  readonly deliveries: DeliveryOperations;
  readonly hooks: HookOperations;
  readonly previews: PreviewOperations;
  readonly gauges: GaugeOperations;
  readonly stats: StatsOperations;
  readonly probes: ProbeOperations;
  readonly waits: WaitOperations;
  readonly subscriptions: SubscriptionOperations;
  /** For what a host does besides: the owner gets one notice for each outage. */
  readonly outages: Pick<Outages, "failed" | "works">;
}

/** The parts that live as long as the store is open. */
export interface Running {
  readonly context: IngressContext;
  readonly lead: Lead;
  /** Turns that are shared with other gateways on the store; absent where there are none. */
  readonly turns: TurnExchange | undefined;
  readonly retention: Retention;
  readonly hookWatch: HookWatch;
  readonly probing: ProbeSchedule;
  readonly quarantine: QuarantineExpiry;
  readonly waitClock: WaitClock;
  readonly operations: Operations;
  /** What is done about other gateways on the store; absent where there are none. */
  readonly around: Around | undefined;
}

/** The parts that are there before the store is. */
export type SharedParts = Pick<
  IngressContext,
  "inFlight" | "unverifiedPlaces" | "unverifiedBytes" | "heldAnswers" | "measurements"
>;

export interface RunningOptions {
  readonly store: DeliveryStore;
  readonly host: GatewayHost;
  readonly active: () => ActiveConfig;
  readonly withEdit: ConfigReload["withEdit"];
  /** The active `hooks` block, as it is written. */
  readonly written: () => unknown;
  readonly refreshKeys: () => Promise<void>;
  readonly shared: SharedParts;
  /** Aborted at the shutdown's deadline. */
  readonly abandon: AbortSignal;
}

/** Recovers what an earlier process left in the store; nothing begins to run. */
export async function openRunning(options: RunningOptions): Promise<Running> {
  const { store, host, active, withEdit, written, refreshKeys, shared, abandon } = options;
  const { logger, clock } = host;
  const watch = new RunWatch();
  const notices = new OwnerNotices({
    host,
    logger,
    target: () => active().config.notices,
    hasSecret: (text) => active().outgoing(null).hasSecret(text),
    abandon,
  });
  host.sessions.checkOutgoing?.((given) => checkOutgoing(active().outgoing(null), { hasCanary: () => false, given }));
  const outages = new OutageRegistry({ store, notices, logger, clock, abandon });
  const own = await openGatewayKey(join(host.paths.stateDir, KEY_FILE));
  const key = createSecretKey((await store.shared?.keyOfAll(own)) ?? own);
  const isShared = store.shared !== undefined && active().config.store?.several === true;
  const turns = isShared
    ? new TurnExchange({
        shared: store.shared.turns,
        offer: () => offerOf(around?.record.own, { host, turns: active().config.concurrency }),
        leads: () => store.shared?.leads === true,
        changed: () => dispatcher.configure(),
      })
    : undefined;
  const dispatcher = new Dispatcher({
    store,
    host,
    logger,
    clock,
    events: {
      dispatched: (event) => observe(host, active().hooks.dispatched, event),
      settled: (event) => {
        watch.notify(event.runId, event.reply);
        return observe(host, active().hooks.settled, event);
      },
    },
    rulesFor: (mappingId) => active().dispatchRules(mappingId),
    callbacks: () => active().config.callbacks,
    outgoingFor: (mappingId) => active().outgoing(mappingId),
    key,
    fetch: createGuardedFetch({ timeoutMs: CALLBACK_TIMEOUT_MS }),
    beginRetry: BRIEF_RETRY,
    agents: (dispatch) => {
      turns?.use(dispatch);
      return new AgentRunner(dispatch, turns);
    },
    notices,
    outages,
    measurements: shared.measurements,
    concurrency: () => active().config.concurrency + (turns?.elsewhere ?? 0),
    isBusy: () => shared.inFlight.count >= BUSY_FROM,
  });
  const lead = new Lead({ store, dispatcher, outages, turns, logger, abandon });
  await lead.open();
  const chains = new Chains({ key, store, logger });
  const release: ApprovalOptions["release"] = (deliveryId, by) => operations.deliveries.release(deliveryId, by);
  const approvals = new ApprovingEvents({ store, logger, release });
  const waits = new WaitBook(store);
  await waits.refresh();
  const endDue: IngressContext["endDue"] = (known) => waitClock.endNow(known);
  const parts = { store, dispatcher, watch, host, chains, approvals, waits, endDue };
  const context: IngressContext = { ...parts, probes: new Probes({ key, clock }), ...shared };
  const waitClock = new WaitClock({ ingress: context, book: waits, active });
  const retention = new Retention({ store, clock, logger, limits: () => active().config.retention });
  const hookWatch = new HookWatch({ store, outages, clock, logger, mappings: () => active().config.mappings });
  const operated = { ingress: context, active };
  const probes = new ProbeOperations(operated);
  const probing = new ProbeSchedule({ probes, outages, clock, logger, everyMs: () => active().config.probeEveryMs });
  const quarantine = new QuarantineExpiry({
    store,
    clock,
    logger,
    mappings: () => active().config.mappings,
    withdraw: (withdrawal) => dispatcher.withdraw(withdrawal),
  });
  const hooks = new HookOperations({ ...operated, activityOf: (route) => hookWatch.activityOf(route) });
  const around = isShared
    ? new Around({ store: store.shared, lockout: () => active().lockout, written, refreshKeys, key, logger })
    : undefined;
  const operations: Operations = {
    deliveries: new DeliveryOperations(operated),
    hooks,
    previews: new PreviewOperations({ ...operated, withEdit }),
    gauges: new GaugeOperations({ ingress: context, hooks, outages: () => outages.open }),
    stats: new StatsOperations(operated),
    probes,
    waits: new WaitOperations({ ingress: context, book: waits, active }),
    subscriptions: new SubscriptionOperations(operated),
    outages,
  };
  host.agents.offerTool?.(waitTool({ waits: operations.waits, store }));
  return { context, lead, turns, retention, hookWatch, probing, quarantine, waitClock, operations, around };
}

/** What this gateway takes of the turns of all; `undefined` before there is a configuration. */
function offerOf(
  own: SharedFacts | undefined,
  { host, turns }: { readonly host: GatewayHost; readonly turns: number },
): TurnOffer | undefined {
  if (own === undefined) return undefined;
  const idsOf = (list: readonly { readonly id: string }[]): string[] => list.map(({ id }) => id);
  const { agents, channels } = host;
  const lists = { agents: idsOf(agents.list()), channels: idsOf(channels.list()) };
  return { alike: `${own.version} ${own.config}`, ...lists, turns };
}
