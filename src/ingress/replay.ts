import { createHash } from "node:crypto";
import type { DeliverySummary } from "../core/delivery.ts";
import type { RunSpec } from "../core/run.ts";
import type { SenderMatch } from "../auth/sender-routes.ts";
import { coalescedText } from "../dispatch/run/coalesced-text.ts";
import { isRefusal, refuse } from "../core/errors.ts";
import type { ErrorCode, Refusal } from "../core/errors.ts";
import type { ActiveConfig } from "./active-config.ts";
import type { Replayable, ReplayableRun } from "../storage/delivery-store.ts";
import type { IdempotencyClaim, NewRun } from "../storage/new-delivery.ts";
import { bodyRules } from "./stages/body.ts";
import { commit } from "./commit.ts";
import type { Accepted } from "./commit.ts";
import type { IngressContext } from "./context.ts";
import { acceptVerified } from "./pipeline.ts";
import { storeRefusal } from "./context.ts";
import { fromStored } from "./stages/verify.ts";

/** The new deliveries that a replay has made. */
export interface Replayed {
  /** Of the call itself. */
  readonly own: Accepted;
  /** Of the calls that were coalesced into its run, in their order; empty for most. */
  readonly members: readonly ReplayedMember[];
  /** Ids of those among them that were not reached. */
  readonly left: readonly string[];
  /** Why they were not. */
  readonly stopped: Refusal | undefined;
}

export interface ReplayedMember {
  /** The delivery that was replayed. */
  readonly deliveryId: string;
  readonly result: Accepted | Refusal;
}

/** How a delivery is replayed. */
export interface HowToReplay {
  /** Its runs as they were accepted, and not its bytes by the active configuration. */
  readonly asAccepted: boolean;
  /** True: its runs are held, and the new delivery takes its place; only `asAccepted`. */
  readonly isRelease?: boolean;
}

/**
 * Stored as the credential of a delivery that a release made, and that of no caller. It tells such a delivery from the
 * replays that a person made of a held one, which do not take its place.
 */
const RELEASE = "release of a held delivery";

/** For longer than a release takes; the held delivery is canceled then. */
const RELEASE_MS = 3_600_000;

/** After these the rest would be refused as well. */
const STOPPING: ReadonlySet<ErrorCode> = new Set(["QUEUE_FULL", "STORE_UNAVAILABLE", "SHUTTING_DOWN"]);

/** True for a refusal that concerns every call: the queue is full, the store fails, the gateway shuts down. */
export function stopsReplays({ refused }: Refusal): boolean {
  return STOPPING.has(refused);
}

/**
 * Makes a new delivery of a stored one: from its bytes by the active configuration or, `asAccepted`, from
 * its runs as they were accepted. Its sender is not verified again, and the keys that would make it a
 * duplicate do not count. By the active configuration, the calls that were coalesced into its run follow
 * it, each as a call of its own; a refusal of the first is the answer for all.
 */
export async function replayDelivery(
  ingress: IngressContext,
  active: ActiveConfig,
  deliveryId: string,
  how: HowToReplay,
): Promise<Replayed | Refusal> {
  active.transforms.enter();
  try {
    return await replayStored(ingress, active, deliveryId, how);
  } finally {
    active.transforms.leave();
  }
}

async function replayStored(
  ingress: IngressContext,
  active: ActiveConfig,
  deliveryId: string,
  { asAccepted, isRelease = false }: HowToReplay,
): Promise<Replayed | Refusal> {
  const stored = await readStored(ingress, deliveryId);
  if (isRefusal(stored)) return stored;
  const own = asAccepted
    ? await repeatRuns(ingress, active, deliveryId, { stored, isRelease })
    : await replayBytes(ingress, active, deliveryId, stored);
  if (isRefusal(own)) return own;

  const rest = await replayMembers(asAccepted ? [] : stored.members, async (memberId) => {
    const member = await readStored(ingress, memberId);
    return isRefusal(member) ? member : replayBytes(ingress, active, memberId, member);
  });
  return { own, ...rest };
}

/**
 * What an earlier release made of a held delivery, whose process ended before it could end the held one. Rejects with a
 * `StoreError`.
 */
export async function releasedBefore(
  { store }: Pick<IngressContext, "store">,
  deliveryId: string,
): Promise<Pick<DeliverySummary, "id" | "state"> | undefined> {
  for (const replay of await store.replaysOf(deliveryId)) {
    if ((await store.stateFor(replay.id, RELEASE)) !== undefined) return replay;
  }
  return undefined;
}

/** Reads a stored delivery. */
async function readStored(ingress: IngressContext, deliveryId: string): Promise<Replayable | Refusal> {
  try {
    return (await ingress.store.replayable(deliveryId)) ?? refuse("DELIVERY_NOT_FOUND");
  } catch (error) {
    return storeRefusal(error, ingress, "a delivery could not be read for its replay");
  }
}

/** Sends the stored bytes through the stages again, as if they were received now. */
async function replayBytes(
  ingress: IngressContext,
  active: ActiveConfig,
  replayOf: string,
  stored: Replayable,
): Promise<Accepted | Refusal> {
  if (stored.body === null) return refuse("PAYLOAD_GONE");
  const sender = senderOn(active, stored.route);
  const rules = bodyRules(active, sender, stored.route);
  if (!rules) return refuse("NOT_FOUND");
  const verified = fromStored(stored, stored.body, ingress.host.clock.now());
  const call = await acceptVerified(ingress, active, { verified, sender, accept: rules.accept, replayOf });
  return isRefusal(call) ? call : call.delivery;
}

/** The route of a stored path; a secret last segment was not stored. */
export function senderOn({ senders }: ActiveConfig, path: string): SenderMatch | undefined {
  return [path, `${path}/-`].map((each) => senders.find(each)).find((match) => match?.route.path === path);
}

/**
 * Replays calls one after the other. A refused one does not stop the next ones, unless they would be
 * refused as well.
 */
async function replayMembers(
  deliveryIds: readonly string[],
  replay: (deliveryId: string) => Promise<Accepted | Refusal>,
): Promise<Omit<Replayed, "own">> {
  const members: ReplayedMember[] = [];
  for (const [at, deliveryId] of deliveryIds.entries()) {
    const result = await replay(deliveryId);
    if (isRefusal(result) && stopsReplays(result)) return { members, left: deliveryIds.slice(at), stopped: result };
    members.push({ deliveryId, result });
  }
  return { members, left: [], stopped: undefined };
}

/**
 * Accepts the runs of a delivery again: the same agents, sessions, texts, targets and lanes, regardless of
 * the active configuration. They neither coalesce nor yield to other runs. Runs that are done are repeated
 * only when all are; a run of coalesced calls holds them all again.
 */
async function repeatRuns(
  ingress: IngressContext,
  active: ActiveConfig,
  replayOf: string,
  { stored, isRelease }: { readonly stored: Replayable; readonly isRelease: boolean },
): Promise<Accepted | Refusal> {
  const gone = payloadGone(stored, { asAccepted: true });
  if (gone) return gone;
  const runs = await runsToRepeat(ingress, stored);
  if (isRefusal(runs)) return runs;
  const { route, mappingId, name, headers, query, body, event, actor, level, chain } = stored;
  const receivedAt = ingress.host.clock.now();
  return commit(
    ingress,
    active,
    {
      receivedAt,
      route,
      mappingId,
      name,
      headers,
      query,
      body: body ?? new Uint8Array(),
      event,
      actor,
      level,
      chain,
      credentialId: isRelease ? RELEASE : null,
      ...(isRelease && { idempotency: releaseClaim(replayOf, receivedAt) }),
      runs,
      replayOf,
    },
    runs.map(({ spec }) => spec),
  );
}

/** Of two gateways that release the same delivery at once, the second is given what the first has made of it. */
function releaseClaim(deliveryId: string, now: number): IdempotencyClaim {
  const key = createHash("sha256").update(`${RELEASE} ${deliveryId}`).digest();
  return { key, fingerprint: key, expiresAt: now + RELEASE_MS };
}

/** The refusal when a delivery can no longer be replayed; `undefined` when it can. */
export function payloadGone(
  { body, runs }: Pick<Replayable, "body" | "runs">,
  { asAccepted }: { readonly asAccepted: boolean },
): Refusal | undefined {
  if (!asAccepted) return body === null ? refuse("PAYLOAD_GONE") : undefined;
  if (runs.length === 0) return refuse("PAYLOAD_GONE", "This delivery has no runs that could be repeated.");
  if (notDone(runs).every(({ spec }) => textOf(spec) !== "")) return undefined;
  return refuse("PAYLOAD_GONE", "The texts of this delivery's runs are not kept any more.");
}

/** The runs that are repeated as they were accepted: those that are not done or, when all are, all. */
export function notDone<Run extends Pick<ReplayableRun, "state">>(runs: readonly Run[]): readonly Run[] {
  const left = runs.filter(({ state }) => state !== "done");
  return left.length === 0 ? runs : left;
}

async function runsToRepeat(
  ingress: IngressContext,
  { runs, members }: Replayable,
): Promise<readonly NewRun[] | Refusal> {
  const repeated = notDone(runs);
  const [first] = repeated;
  // Only the single run of a delivery coalesces calls.
  if (members.length === 0 || first === undefined) {
    return repeated.map(({ lane, spec }): NewRun => ({ lane, spec: { ...spec, coalesce: undefined } }));
  }
  try {
    const { coalesced } = await ingress.store.loadRun(first.runId);
    const { text, note, unsafe } = coalescedText(first.spec, coalesced);
    // The gateway's note on the calls goes into the text: the new run has one call only.
    const spec = withText(first.spec, note === undefined ? text : `${text}\n\n${note}`);
    return [{ lane: first.lane, spec: { ...spec, unsafe, coalesce: undefined } }];
  } catch (error) {
    return storeRefusal(error, ingress, "a run could not be read for its replay");
  }
}

function textOf(spec: RunSpec): string {
  return spec.kind === "wake" ? spec.text : spec.message;
}

function withText(spec: RunSpec, text: string): RunSpec {
  return spec.kind === "wake" ? { ...spec, text } : { ...spec, message: text };
}
