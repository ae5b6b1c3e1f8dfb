/** When a wait would have been fulfilled by the deliveries that are stored; nothing is changed. */
import { isRefusal } from "../../core/errors.ts";
import type { Wait } from "../../core/wait.ts";
import type { Replayable } from "../../storage/delivery-store.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { IngressContext } from "../context.ts";
import { senderOn } from "../replay.ts";
import { bodyRules } from "../stages/body.ts";
import { parse } from "../stages/parse.ts";
import { type Resolved, resolve } from "../stages/resolve.ts";
import { fromStored } from "../stages/verify.ts";
import { explainWait } from "../waits/explain-wait.ts";
import { isOfLevel, mayCount } from "../waits/fulfil.ts";
import { WaitIndex } from "../waits/index-waits.ts";
import { afterEvent, afterQuiet, begun, openPlaces, quietUntil, type WaitStep } from "../waits/progress.ts";
import type { WaitTrial } from "../waits/wait-request.ts";
import { conditionOf } from "../waits/wait-terms.ts";

/** Deliveries that one trial looks at, the newest. */
const MAX_LOOKED = 2_000;
const PAGE = 200;

/** Milliseconds since the epoch. */
export interface TrialPeriod {
  readonly receivedFrom?: number | undefined;
  readonly receivedBefore?: number | undefined;
}

/** Times are ISO 8601 UTC. */
export interface TriedWait {
  /** Deliveries of the period that were looked at, and of them those whose payload is gone. */
  readonly looked: number;
  readonly gone: number;
  /** True when the period has older ones that were not looked at. */
  readonly more: boolean;
  /** Those that would have counted, the oldest first. */
  readonly counted: readonly { readonly deliveryId: string; readonly at: string; readonly hook: string }[];
  /** When it would have resumed the session; without a delivery: by the end of its quiet time. */
  readonly fired: readonly { readonly at: string; readonly deliveryId: string | null }[];
  /** What it would wait for by the end of the period. */
  readonly explanation: readonly string[];
}

interface Trial {
  readonly wait: Wait;
  readonly index: WaitIndex;
  readonly counted: TriedWait["counted"][number][];
  readonly fired: TriedWait["fired"][number][];
}

type Ingress = Pick<IngressContext, "host" | "store">;

/** Rejects with a `WaitRefused`. A wait that has been fulfilled begins again. */
export async function backtestWait(
  { ingress, active }: { readonly ingress: Ingress; readonly active: ActiveConfig },
  { since: _since, until: _until, minLevel = "unknown", ...wish }: WaitTrial,
  period: TrialPeriod,
): Promise<TriedWait> {
  const end = Math.min(period.receivedBefore ?? Infinity, ingress.host.clock.now());
  const { ids, more } = await idsOf(ingress, period);
  const trial: Trial = {
    wait: { ...NOTHING, ...conditionOf(active.config.mappings, wish), minLevel, until: Number.MAX_SAFE_INTEGER },
    index: new WaitIndex(),
    counted: [],
    fired: [],
  };
  trial.index.add(trial.wait);
  let gone = 0;
  let wait: Wait | undefined;
  for (const id of ids) {
    const stored = await ingress.store.replayable(id);
    if (stored === undefined || stored.mappingId === null) continue;
    wait ??= begun(trial.wait, period.receivedFrom ?? stored.receivedAt);
    if (stored.body === null) gone++;
    else wait = await after(active, trial, { wait, id, stored, body: stored.body });
  }
  wait = afterTime(trial, wait ?? begun(trial.wait, period.receivedFrom ?? end), end);
  const explanation = explainWait({ ...wait, until: end }).slice(0, -1);
  return { looked: ids.length, gone, more, counted: trial.counted, fired: trial.fired, explanation };
}

/** The oldest first. */
async function idsOf(
  { store }: Ingress,
  period: TrialPeriod,
): Promise<{ readonly ids: readonly string[]; readonly more: boolean }> {
  const { receivedFrom, receivedBefore } = period;
  const filter = {
    ...(receivedFrom !== undefined && { receivedFrom }),
    ...(receivedBefore !== undefined && { receivedBefore }),
  };
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await store.list({ ...filter, limit: PAGE, ...(cursor === null ? {} : { cursor }) });
    ids.push(...page.deliveries.filter(({ state }) => state !== "duplicate").map(({ id }) => id));
    cursor = page.nextCursor;
  } while (cursor !== null && ids.length < MAX_LOOKED);
  return { ids: ids.slice(0, MAX_LOOKED).toReversed(), more: cursor !== null || ids.length > MAX_LOOKED };
}

async function after(
  active: ActiveConfig,
  trial: Trial,
  call: { readonly wait: Wait; readonly id: string; readonly stored: Replayable; readonly body: Uint8Array },
): Promise<Wait> {
  const { id, stored, body } = call;
  const at = stored.receivedAt;
  const wait = afterTime(trial, call.wait, at);
  const resolved = await resolvedOf(active, stored, body);
  if (resolved === undefined || typeof resolved.route === "string") return wait;
  const { route, context, miss } = resolved;
  const { config } = route;
  const matched = trial.index.find({ id: config.id, preset: config.preset }, context)?.get(wait.id) ?? [];
  const places = openPlaces(wait, matched);
  if (places.length === 0 || !mayCount({ route, context, miss }) || !isOfLevel(wait, context)) return wait;
  trial.counted.push({ deliveryId: id, at: iso(at), hook: config.id });
  const step = afterEvent(wait, places, { at, hook: config.id, event: context.event ?? null, text: "" });
  return followed(trial, step, { at: iso(at), deliveryId: id });
}

/** What its quiet time has fulfilled until then. */
function afterTime(trial: Trial, wait: Wait, until: number): Wait {
  const quiet = quietUntil(wait);
  if (quiet === undefined || quiet > until) return wait;
  const next = followed(trial, afterQuiet(wait, quiet), { at: iso(quiet), deliveryId: null });
  // An absence alone is fulfilled once, until what it excludes comes again.
  return wait.all.length + wait.any.length === 0 ? { ...next, quietSince: until } : next;
}

function followed(trial: Trial, { next, fires }: WaitStep, fired: TriedWait["fired"][number]): Wait {
  if (fires) trial.fired.push(fired);
  return next!;
}

async function resolvedOf(active: ActiveConfig, stored: Replayable, body: Uint8Array): Promise<Resolved | undefined> {
  const sender = senderOn(active, stored.route);
  const rules = bodyRules(active, sender, stored.route);
  if (!rules) return undefined;
  const verified = fromStored(stored, body, stored.receivedAt);
  const payload = parse(verified, { accept: rules.accept, maxDepth: active.config.maxDepth });
  if (isRefusal(payload)) return undefined;
  const resolved = await resolve(active, { sender }, verified, payload);
  return isRefusal(resolved) ? undefined : resolved;
}

/** Of a wait that is made for no session. */
const NOTHING = {
  id: "wait",
  agentId: "",
  sessionKey: "",
  note: "",
  instead: false,
  createdAt: 0,
  madeBy: null,
  times: Number.MAX_SAFE_INTEGER,
  seen: [],
  quietSince: null,
  level: "owner",
  rights: {},
} as const;

function iso(at: number): string {
  return new Date(at).toISOString();
}
