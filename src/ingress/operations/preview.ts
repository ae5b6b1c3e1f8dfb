import type { ConfigEdit } from "../../config/mapping/edit.ts";
import type { MappingConfig } from "../../config/mapping/schema.ts";
import type { ExtractSpec } from "../../core/extraction.ts";
import type { AgentSpec, State, RunSpec } from "../../core/run.ts";
import { ERRORS, isRefusal, type Refusal } from "../../core/errors.ts";
import { instructedPrompt, wakeText } from "../../dispatch/run/agent-prompt.ts";
import { extractionInstructions, extractionPrompt } from "../../dispatch/run/extraction.ts";
import type { Replayable } from "../../storage/delivery-store.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { IngressContext } from "../context.ts";
import { judgeVerified } from "../pipeline.ts";
import { explainWait } from "../waits/explain-wait.ts";
import { makeWait, type MadeWait } from "../waits/make-wait.ts";
import { RequestFacts } from "../request-log.ts";
import type { ConfigReload } from "../reload.ts";
import { senderOn } from "../replay.ts";
import { bodyRules } from "../stages/body.ts";
import { fromStored } from "../stages/verify.ts";
import type { DeliveryFilter } from "./select.ts";

/** A call that was never received: nothing verifies it, and nothing of it is stored. */
export interface SampleCall {
  /** Below the prefix: `wake`, `github/push`. */
  readonly path: string;
  readonly body: Uint8Array;
  /** JSON, or that of `like`, when absent. */
  readonly contentType?: string | undefined;
  /** The id of a stored delivery whose headers and query it has: a sender may say there which event it is. */
  readonly like?: string | undefined;
}

/** The result of the active configuration for a call. */
export interface Preview {
  /** `runs`: at least one; `refused`: the caller would get an error. */
  readonly outcome: "runs" | "filtered" | "skipped" | "failed" | "refused";
  readonly reason: string | null;
  readonly mappingId: string | null;
  readonly runs: readonly PreviewedRun[];
  /** The wait that it makes, in sentences; absent: none. */
  readonly wait?: readonly string[];
  /** The mapping that took it, as far as a person edits it; `null` for a direct call, and where none did. */
  readonly mapping: PreviewedMapping | null;
}

export interface PreviewedMapping {
  readonly id: string;
  /** True for a mapping of a preset: an edit of it is a mapping of one's own. */
  readonly isOfPreset: boolean;
  readonly preset: string | null;
  readonly path: string | null;
  readonly templateKey: "messageTemplate" | "textTemplate";
  /** Empty when a transform makes the text. */
  readonly template: string;
  readonly instructions: string;
}

export interface PreviewedRun {
  readonly kind: RunSpec["kind"];
  readonly agentId: string;
  readonly sessionKey: string;
  /** The channel and the recipient of the reply; `null` when none is sent. */
  readonly target: string | null;
  /** As the agent gets it, the boundary included. */
  readonly prompt: string;
  /** As the model of the extraction gets it; absent: the run has none. */
  readonly extraction?: string;
}

export type BacktestChange = "same" | "ended" | "runs" | "mapping" | "content" | "refused" | "not-judged";

/** One stored delivery: its outcome, and what its outcome would be now. */
export interface Backtested {
  readonly deliveryId: string;
  readonly receivedAt: string;
  readonly route: string;
  readonly name: string;
  readonly change: BacktestChange;
  /** In words for the operator. */
  readonly detail: string;
  readonly before: TakenBy;
  /** As before when it could not be judged. */
  readonly now: TakenBy;
}

/** The mapping that takes a call, `null` for a direct one, and the runs that it makes of it. */
interface TakenBy {
  readonly mappingId: string | null;
  readonly runs: number;
}

export interface BacktestPage {
  readonly deliveries: readonly Backtested[];
  readonly nextCursor: string | null;
}

interface PreviewSources {
  readonly ingress: IngressContext;
  readonly active: () => ActiveConfig;
  readonly withEdit: ConfigReload["withEdit"];
}

const JSON_CALL = { headers: { "content-type": "application/json" }, query: {} };

/** Judges calls by the active configuration, or by an edited one: nothing is stored, sent or counted. */
export class PreviewOperations {
  readonly #ingress: IngressContext;
  readonly #active: () => ActiveConfig;
  readonly #withEdit: ConfigReload["withEdit"];

  constructor({ ingress, active, withEdit }: PreviewSources) {
    this.#ingress = ingress;
    this.#active = active;
    this.#withEdit = withEdit;
  }

  /** Transforms are called: what they do outside their process is done. `undefined`: there is no delivery `like`. */
  async sample({ path, body, contentType, like }: SampleCall, edit?: ConfigEdit): Promise<Preview | undefined> {
    const stored = like === undefined ? JSON_CALL : await this.#ingress.store.replayable(like);
    if (stored === undefined) return undefined;
    const headers = contentType === undefined ? stored.headers : { ...stored.headers, "content-type": contentType };
    const call = { route: path, headers, query: stored.query };
    return this.#by(edit, (active) => this.#judge(active, call, body));
  }

  /** Of a stored delivery, also its runs as they were accepted; `undefined` when there is none. */
  delivery(id: string): Promise<Seen> {
    return this.#see(this.#active(), id);
  }

  /** Judges a page of stored deliveries, the newest first. */
  async backtest(
    filter: DeliveryFilter,
    page: { limit: number; cursor?: string },
    edit?: ConfigEdit,
  ): Promise<BacktestPage> {
    const { deliveries, nextCursor } = await this.#ingress.store.list({ ...filter, ...page });
    return this.#by(edit, async (active) => {
      const judged: Backtested[] = [];
      for (const { id, receivedAt, route, name, state, mappingId } of deliveries) {
        const seen = await this.#see(active, id);
        const compared = compare({ state, mappingId }, seen);
        judged.push({ deliveryId: id, receivedAt, route, name, ...compared, ...takenBy(mappingId, seen) });
      }
      return { deliveries: judged, nextCursor };
    });
  }

  #by<Result>(edit: ConfigEdit | undefined, judge: (active: ActiveConfig) => Promise<Result>): Promise<Result> {
    return edit === undefined ? judge(this.#active()) : this.#withEdit(edit, judge);
  }

  async #see(active: ActiveConfig, id: string): Promise<Seen> {
    const stored = await this.#ingress.store.replayable(id);
    if (stored === undefined) return undefined;
    const accepted = stored.runs.map(({ spec }) => this.#runOf(spec));
    return { accepted, now: stored.body === null ? null : await this.#judge(active, stored, stored.body) };
  }

  async #judge(
    active: ActiveConfig,
    call: Pick<Replayable, "route" | "headers" | "query">,
    body: Uint8Array,
  ): Promise<Preview> {
    const sender = senderOn(active, call.route);
    const rules = bodyRules(active, sender, call.route);
    if (!rules) return refusedPreview({ refused: "NOT_FOUND" });
    active.transforms.enter();
    try {
      const verified = fromStored(call, body, this.#ingress.host.clock.now());
      const facts = new RequestFacts();
      const judged = await judgeVerified(this.#ingress, active, { verified, sender, accept: rules.accept, facts });
      const chosen = active.config.mappings.find(({ id }) => id === facts.mapping);
      const mapping = chosen === undefined ? null : mappingOf(chosen);
      if (isRefusal(judged)) return refusedPreview(judged, mapping);
      const made = makeWait(judged);
      const { rendered, specs } = made ?? judged;
      const taken = { mappingId: facts.mapping ?? null, mapping, ...(made && { wait: waitLines(made) }) };
      const { ended } = rendered;
      if (ended === undefined) {
        return { outcome: "runs", reason: null, ...taken, runs: specs.map((spec) => this.#runOf(spec)) };
      }
      const outcome = ended.state === "filtered" || ended.state === "failed" ? ended.state : "skipped";
      return { outcome, reason: ended.reason, ...taken, runs: [] };
    } finally {
      active.transforms.leave();
    }
  }

  #runOf(spec: RunSpec): PreviewedRun {
    const { kind, agentId, sessionKey } = spec;
    const now = new Date(this.#ingress.host.clock.now());
    const prompt = spec.kind === "wake" ? wakeText(spec) : instructedPrompt(spec, { now, interrupted: false });
    const extraction = spec.kind === "agent" && spec.extract ? extractionOf(spec, spec.extract) : undefined;
    return { kind, agentId, sessionKey, target: targetOf(spec), prompt, ...(extraction && { extraction }) };
  }
}

/** What the session would wait for. */
function waitLines({ wait, problem }: MadeWait): readonly string[] {
  if (wait === undefined) return [`No wait is made: ${problem}`];
  const { sessionKey, note } = wait;
  return [note === "" ? `${sessionKey} waits.` : `${sessionKey} waits: ${note}`, ...explainWait(wait)];
}

function extractionOf(spec: AgentSpec, extract: ExtractSpec): string {
  return `${extractionInstructions(extract)}\n\n${extractionPrompt(spec)}`;
}

function targetOf(spec: RunSpec): string | null {
  if (spec.kind === "wake" || spec.delivery === undefined) return null;
  return "channel" in spec.delivery ? `${spec.delivery.channel} to ${spec.delivery.to}` : spec.delivery.unresolved;
}

function refusedPreview({ refused, message }: Refusal, mapping: PreviewedMapping | null = null): Preview {
  const reason = message ?? ERRORS[refused].message;
  return { outcome: "refused", reason, mappingId: mapping?.id ?? null, mapping, runs: [] };
}

function mappingOf(config: MappingConfig): PreviewedMapping {
  const { id, where, preset, match, action, instructions = "" } = config;
  const templateKey = action === "wake" ? "textTemplate" : "messageTemplate";
  const isOfPreset = !where.startsWith("hooks.mappings[");
  const template = config[templateKey] ?? "";
  return { id, isOfPreset, preset: preset ?? null, path: match.path ?? null, templateKey, template, instructions };
}

/** A stored delivery: its runs as they were accepted, and its outcome now; `undefined` when there is none. */
type Seen = { readonly accepted: readonly PreviewedRun[]; readonly now: Preview | null } | undefined;

function takenBy(mappingId: string | null, seen: Seen): Pick<Backtested, "before" | "now"> {
  const { accepted = [], now } = seen ?? {};
  const before = { mappingId, runs: accepted.length };
  return { before, now: now == null ? before : { mappingId: now.mappingId, runs: now.runs.length } };
}

function compare(
  before: { readonly state: State; readonly mappingId: string | null },
  seen: Seen,
): { readonly change: BacktestChange; readonly detail: string } {
  if (before.state === "duplicate") return { change: "not-judged", detail: "it repeats another delivery" };
  if (seen === undefined || seen.now === null) return { change: "not-judged", detail: "its payload is not kept" };
  const { accepted, now } = seen;
  if (now.outcome === "refused") return { change: "refused", detail: `would be refused: ${now.reason}` };
  const had = accepted.length > 0;
  const was = had ? "runs" : before.state;
  if (now.outcome !== was) {
    const change = now.outcome === "runs" ? "runs" : "ended";
    return { change, detail: `was ${was}, would be ${now.outcome}${now.reason === null ? "" : `: ${now.reason}`}` };
  }
  if (now.mappingId !== before.mappingId) {
    return { change: "mapping", detail: `was taken by ${before.mappingId}, would be by ${now.mappingId}` };
  }
  const differs = changedFields(accepted, now.runs);
  return differs.length === 0 ? { change: "same", detail: "" } : { change: "content", detail: differs.join(", ") };
}

const FIELDS = ["kind", "agentId", "sessionKey", "target", "prompt", "extraction"] as const;

function changedFields(before: readonly PreviewedRun[], now: readonly PreviewedRun[]): string[] {
  if (before.length !== now.length) return [`had ${before.length} runs, would have ${now.length}`];
  return FIELDS.filter((field) => before.some((run, at) => lasting(run[field]) !== lasting(now[at]![field]))).map(
    (field) => `another ${field}`,
  );
}

/** Ids that are made for each run, and the time in a prompt, differ always. */
const PER_RUN = /\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|(?<=Current time: )\S+|(?<=id=")[0-9a-f]+(?=")/gu;

function lasting(text: string | null | undefined): string | undefined {
  return text?.replaceAll(PER_RUN, "");
}
