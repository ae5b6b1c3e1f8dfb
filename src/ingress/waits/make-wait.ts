/** The wait that an accepted event makes for the session of its run. */
import type { RunSpec } from "../../core/run.ts";
import type { Wait } from "../../core/wait.ts";
import type { CompiledMapping } from "../../mapping/compile-mapping.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { IngressContext } from "../context.ts";
import { quarantineReason } from "../quarantine.ts";
import type { Rendered } from "../stages/render.ts";
import type { Resolved } from "../stages/resolve.ts";
import type { Fulfilment } from "./fulfil.ts";
import { boundsOf, newWait, type Waiter } from "./wait-terms.ts";

/** A call that makes a wait: its own part of the call is what was judged, or nothing where the mapping says so. */
export interface MadeWait {
  /** `undefined`: none is made, and `problem` says why. */
  readonly wait: Wait | undefined;
  readonly problem: string | undefined;
  readonly rendered: Rendered;
  readonly specs: readonly RunSpec[];
}

interface Judged {
  readonly resolved: Pick<Resolved, "route" | "context">;
  readonly rendered: Rendered;
  readonly specs: readonly RunSpec[];
}

/**
 * `undefined` for a call that makes none, as nearly every one. An event that begins no run makes none either, and neither
 * does one that is held. `problemOf` says why the wait cannot be made.
 */
export function makeWait(
  judged: Judged,
  problemOf: (wait: Wait) => string | undefined = () => undefined,
): MadeWait | undefined {
  const { route, context } = judged.resolved;
  const [spec] = judged.specs;
  if (typeof route === "string" || route.wait === undefined || spec === undefined) return undefined;
  if (quarantineReason(judged.resolved) !== undefined) return undefined;
  const { termsOf, wish, run } = route.wait;
  const terms = termsOf(context);
  if (typeof terms === "string") return { wait: undefined, problem: terms, ...ownPart(judged, run, undefined) };
  const { condition, note } = terms;
  const wait = newWait(condition, { ...wish, note }, waiterOf(route, judged, spec), context.now.getTime());
  const problem = problemOf(wait);
  const made = problem === undefined ? wait : undefined;
  return { wait: made, problem, ...ownPart(judged, run, made) };
}

/** The session of the run, with no more than that run may do, and the reply where it replies. */
function waiterOf({ config }: CompiledMapping, { resolved: { context } }: Judged, spec: RunSpec): Waiter {
  const { agentId, sessionKey } = spec;
  const by = { agentId, sessionKey, madeBy: null, mapping: config.id };
  const level = context.actor?.level ?? "unknown";
  if (spec.kind === "wake") return { ...by, level, rights: spec.rights ?? {} };
  const { permissions, tools, egress, delivery, fallback } = spec;
  return { ...by, level, rights: { permissions, tools, egress }, delivery, fallback };
}

/** What is left of the call itself. */
function ownPart(
  { rendered, specs }: Judged,
  run: boolean,
  wait: Wait | undefined,
): Pick<MadeWait, "rendered" | "specs"> {
  if (run) return { rendered, specs };
  const reason = wait === undefined ? "it makes no wait, and begins no run" : "it makes a wait, and begins no run";
  return { rendered: { actions: [], ended: { state: "skipped", reason } }, specs: [] };
}

/** The wait that a call makes, as far as there is room for one; the log says when it cannot be made. */
export function waitOfCall(
  { host, waits: book }: Pick<IngressContext, "host" | "waits">,
  { config }: Pick<ActiveConfig, "config">,
  judged: Judged & { readonly fulfilment?: Fulfilment | undefined },
): MadeWait | undefined {
  if (book === undefined) return undefined;
  const made = makeWait(judged, (wait) => book.problem(wait, boundsOf(config.waits), judged.fulfilment?.claim.changes));
  if (made?.problem === undefined) return made;
  const { route } = judged.resolved;
  const mapping = typeof route === "string" ? route : route.config.id;
  host.logger.warn({ mapping, reason: made.problem }, "an event makes no wait");
  return made;
}
