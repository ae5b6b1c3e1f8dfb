/** Holds an accepted call against the waits: which it changes, and which sessions it resumes. */
import { isRefusal } from "../../core/errors.ts";
import { LEVELS } from "../../core/level.ts";
import type { RunSpec } from "../../core/run.ts";
import type { SeenEvent, Wait } from "../../core/wait.ts";
import type { WaitChange, WaitClaim } from "../../storage/wait-store.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { IngressContext } from "../context.ts";
import { quarantineReason } from "../quarantine.ts";
import type { Rendered } from "../stages/render.ts";
import type { Resolved } from "../stages/resolve.ts";
import { afterEvent, openPlaces, quietUntil, type WaitPlace } from "./progress.ts";
import {
  keptText,
  mayReply,
  originOfEvent,
  resumeByEvent,
  textOfEvent,
  type WaitedEvent,
  withoutReply,
} from "./resume.ts";
import type { KnownWait, WaitBook } from "./wait-book.ts";

/** Sessions that one call resumes at most; the other waits stay open for the next one. */
const MAX_RESUMED = 64;

/** What a call does to the waits. */
export interface Fulfilment {
  readonly claim: WaitClaim;
  /** The runs that resume sessions. */
  readonly specs: readonly RunSpec[];
  /** Of the waits in whose place the mapping's own run does not begin. */
  readonly instead: readonly string[];
}

/** The end of the mapping's own part of a call; `undefined`: it goes its way. */
export function replaced(fulfilment: Fulfilment | undefined): Rendered | undefined {
  if (fulfilment === undefined || fulfilment.instead.length === 0) return undefined;
  return { actions: [], ended: { state: "skipped", reason: `it counts for ${fulfilment.instead.join(", ")}` } };
}

type Ingress = Pick<IngressContext, "host" | "endDue">;
type Active = Pick<ActiveConfig, "config" | "hooks">;

/** `undefined`: no session waits for it, as of nearly every call; then nothing was awaited or made. */
export function fulfil(
  ingress: Ingress,
  active: Active,
  book: WaitBook,
  { route, context, miss }: Pick<Resolved, "route" | "context" | "miss">,
): Promise<Fulfilment | undefined> | undefined {
  if (typeof route === "string") return undefined;
  const found = book.find({ id: route.config.id, preset: route.config.preset }, context);
  if (found === undefined || !mayCount({ route, context, miss })) return undefined;
  return fulfilAll(ingress, active, { book, event: { route, context }, found });
}

/** What is held or turned away because of who acted, and what approves something else, reaches no session. */
export function mayCount({ route, context, miss }: WaitedEvent & Pick<Resolved, "miss">): boolean {
  if (miss !== undefined || route.config.chat !== undefined) return false;
  if (quarantineReason({ route, context }) !== undefined) return false;
  return route.filter?.missActor(context) === undefined && route.release?.judge(context) === undefined;
}

/** True for an event of someone whom the wait takes. */
export function isOfLevel({ minLevel }: Pick<Wait, "minLevel">, { actor }: WaitedEvent["context"]): boolean {
  return LEVELS.indexOf(actor?.level ?? "unknown") >= LEVELS.indexOf(minLevel);
}

async function fulfilAll(
  ingress: Ingress,
  active: Active,
  call: {
    readonly book: WaitBook;
    readonly event: WaitedEvent;
    readonly found: ReadonlyMap<string, readonly WaitPlace[]>;
  },
): Promise<Fulfilment | undefined> {
  const { book, event, found } = call;
  const changes: WaitChange[] = [];
  const specs: RunSpec[] = [];
  const instead: string[] = [];
  for (const [id, places] of found) {
    if (specs.length >= MAX_RESUMED) continue;
    let known = book.get(id);
    if (known !== undefined && isFulfilled(known, event)) known = await following(ingress, book, { known, event });
    if (known === undefined) continue;
    const outcome = await outcomeFor(ingress, active, { known, event, places });
    if (outcome === undefined) continue;
    changes.push(outcome.change);
    if (outcome.spec !== undefined) specs.push(outcome.spec);
    if (outcome.isInstead) instead.push(id);
  }
  return changes.length === 0 ? undefined : { claim: { mark: book.mark, changes }, specs, instead };
}

/** True where the quiet time had passed when the event came: nothing undoes that, though the clock has not looked yet. */
function isFulfilled({ wait }: KnownWait, { context }: WaitedEvent): boolean {
  const quiet = quietUntil(wait);
  return quiet !== undefined && context.now.getTime() >= quiet;
}

/** What follows a wait that is fulfilled, for which the event may count; the clock ends one that nothing follows. */
async function following(
  { endDue }: Ingress,
  book: WaitBook,
  { known, event }: { readonly known: KnownWait; readonly event: WaitedEvent },
): Promise<KnownWait | undefined> {
  if (known.wait.times === 1) return undefined;
  await endDue?.(known);
  const next = book.get(known.wait.id);
  // It could not be ended: the clock tries again.
  return next === undefined || isFulfilled(next, event) ? undefined : next;
}

interface Outcome {
  readonly change: WaitChange;
  readonly spec: RunSpec | undefined;
  readonly isInstead: boolean;
}

async function outcomeFor(
  ingress: Ingress,
  active: Active,
  call: { readonly known: KnownWait; readonly event: WaitedEvent; readonly places: readonly WaitPlace[] },
): Promise<Outcome | undefined> {
  const { known, event, places: matched } = call;
  const { wait, version } = known;
  const { context, route } = event;
  const now = context.now.getTime();
  const places = openPlaces(wait, matched);
  if (places.length === 0 || !isOfLevel(wait, context) || now >= wait.until) return undefined;
  const origin = originOfEvent(active, event, wait);
  if (isRefusal(origin)) return passedBy(ingress, wait, origin.message);
  const facts = { at: now, hook: route.config.id, event: context.event ?? null };
  const carries = places.some(({ list }) => list !== "none");
  const step = afterEvent(wait, places, { ...facts, text: keptText(event, origin) });
  const isInstead = carries && wait.instead;
  if (!step.fires) {
    // Only a text that is kept lowers what the resumed run may do.
    const left = carries ? { level: origin.level ?? wait.level, rights: rightsOf(origin) } : {};
    const kept = carries && !mayReply(event, origin) ? withoutReply(step.next!) : step.next!;
    const next: Wait = { ...kept, ...left };
    return { change: { id: wait.id, version, content: JSON.stringify(next) }, spec: undefined, isInstead };
  }
  const seen = whole(step.seen, facts.at, textOfEvent(event), wait);
  const spec = await resumeByEvent(ingress, active, event, { wait, seen, origin });
  if (isRefusal(spec)) return passedBy(ingress, wait, spec.message);
  const content = step.next === null ? null : JSON.stringify(step.next);
  return { change: { id: wait.id, version, content }, spec, isInstead };
}

/** Of the event that fulfils the wait, the whole text, and once: it may count at several places. */
function whole(seen: readonly SeenEvent[], at: number, text: string, before: Wait): readonly SeenEvent[] {
  const known = new Set(before.seen.map(({ list, index }) => `${list} ${index}`));
  const isNew = ({ list, index }: SeenEvent): boolean => !known.has(`${list} ${index}`);
  const [latest] = seen.filter(isNew);
  const earlier = seen.filter((each) => !isNew(each));
  return latest === undefined ? earlier : [...earlier, { ...latest, at, text }];
}

function rightsOf({ permissions, tools, egress }: Wait["rights"]): Wait["rights"] {
  return { permissions, tools, egress };
}

/** The event would give the session what it may not have: the wait stays open. */
function passedBy({ host }: Ingress, { id }: Wait, reason: string | undefined): undefined {
  host.logger.warn({ wait: id, reason }, "an event that a session waits for may not reach it");
}
