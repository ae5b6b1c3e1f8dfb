/** Takes one request through the stages that a transform has a part in, and keeps what it sees. */
import { Measurements } from "../../core/measurements.ts";
import { reasonOf } from "../../core/reason-of.ts";
import { instructedPrompt, passedOnText, wakeText } from "../../dispatch/run/agent-prompt.ts";
import { extractionInstructions, extractionPrompt } from "../../dispatch/run/extraction.ts";
import type { Action } from "../../core/delivery.ts";
import type { RunSpec } from "../../core/run.ts";
import { ERRORS, isRefusal, refuse } from "../../core/errors.ts";
import type { Refusal } from "../../core/errors.ts";
import { compileMapping } from "../../mapping/compile-mapping.ts";
import type { CompiledMapping } from "../../mapping/compile-mapping.ts";
import { MappingIndex } from "../../mapping/index-mappings.ts";
import { filter } from "../../ingress/stages/filter.ts";
import { parse } from "../../ingress/stages/parse.ts";
import { policy } from "../../ingress/stages/policy.ts";
import { render } from "../../ingress/stages/render.ts";
import type { Rendered } from "../../ingress/stages/render.ts";
import { recognize } from "../../ingress/stages/resolve.ts";
import type { Resolved } from "../../ingress/stages/resolve.ts";
import { forDryRun } from "../../ingress/stages/verify.ts";
import type { CallTransform, TransformCall } from "../../transform/call.ts";
import type { TransformConfiguration } from "./configuration.ts";
import type { TransformInput } from "./input.ts";
import type { ChosenMapping } from "./configuration.ts";

/** The result of one call of the transform. */
export type TrialCall = { readonly ms: number } & (
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string }
);

/** One run that would be accepted, with what its agent would read. */
export interface TrialRun {
  readonly action: Action;
  readonly spec: RunSpec;
  /** Of a run that asks no agent, what is delivered. */
  readonly prompt: string;
}

export interface Trial {
  /** The mapping's preset's reading of the request. */
  readonly event: string | undefined;
  readonly actor: string | undefined;
  readonly deliveryId: string | undefined;
  /** Why the gateway would not have asked the transform at all. */
  readonly filtered: string | undefined;
  /** One, or one for each item of `forEach`; none when it did not come to that. */
  readonly calls: readonly TrialCall[];
  /** Of the first call when it is made again, in milliseconds; `undefined` when it fails then. */
  readonly warmMs: number | undefined;
  /** The actions, also when policy refuses them. */
  readonly actions: readonly Action[];
  readonly runs: readonly TrialRun[];
  /** The end of a delivery that has no run. */
  readonly ended: Rendered["ended"];
  /** The caller's answer instead. */
  readonly refused: { readonly code: string; readonly status: number; readonly message: string } | undefined;
}

export interface TrialSetup extends Pick<TransformConfiguration, "config" | "hooks" | "host" | "presets"> {
  readonly chosen: ChosenMapping;
  readonly input: TransformInput;
  readonly call: CallTransform;
  /** Called when what follows is only for the clock. */
  readonly onTried: () => void;
}

/** The number of calls that measure a warm call, or as many as fit into the time. */
const WARM_CALLS = 20;
const WARM_MS = 200;

/** Runs the request; what the transform does wrong is a part of the result. */
export async function tryTransform({ chosen, input, call, onTried, ...configuration }: TrialSetup): Promise<Trial> {
  const { config, hooks, host, presets } = configuration;
  const calls = new RecordedCalls(call);
  const { mapping: own } = chosen;
  const mapping = compileMapping(own, calls.call, presets.get(own.preset ?? ""));
  const request = forDryRun(input, mapping);
  const { maxBodyBytes } = new MappingIndex([mapping], config).rulesOf(mapping);
  if (request.body.length > maxBodyBytes) return refusedTrial(refuse("BODY_TOO_LARGE"));
  const parsed = parse(request, { accept: own.accept, maxDepth: config.maxDepth });
  if (isRefusal(parsed)) return refusedTrial(parsed);

  const resolved = resolvedBy(mapping, parsed.context);
  const missed = filter(resolved);
  // The stages look at no more of them than this.
  const ingress = { host, measurements: new Measurements() };
  const active = { config, hooks };
  const rendered = await render(ingress, active, request, resolved);
  onTried();
  const warmMs = await calls.again();
  const { event, actor } = resolved.context;
  const known = {
    ...NOTHING,
    event,
    actor: actor?.name,
    deliveryId: resolved.deliveryId,
    filtered: missed?.ended?.reason,
    calls: calls.all,
    warmMs,
  };
  if (isRefusal(rendered)) return { ...known, refused: answerOf(rendered) };
  const { actions, ended } = rendered;
  const specs = await policy(ingress, active, resolved, actions);
  if (isRefusal(specs)) return { ...known, actions, refused: answerOf(specs) };
  return { ...known, actions, runs: runsOf(actions, specs), ended };
}

const NOTHING: Trial = {
  event: undefined,
  actor: undefined,
  deliveryId: undefined,
  filtered: undefined,
  calls: [],
  warmMs: undefined,
  actions: [],
  runs: [],
  ended: undefined,
  refused: undefined,
};

function refusedTrial(refusal: Refusal): Trial {
  return { ...NOTHING, refused: answerOf(refusal) };
}

function answerOf({ refused: code, message }: Refusal): Trial["refused"] {
  return { code, status: ERRORS[code].status, message: message ?? ERRORS[code].message };
}

/** The mapping takes the request whatever its path and source are: it was named. */
function resolvedBy(mapping: CompiledMapping, context: Resolved["context"]): Resolved {
  return { ...recognize(mapping, context), ofSender: mapping.config.auth !== undefined };
}

function runsOf(actions: readonly Action[], specs: readonly RunSpec[]): readonly TrialRun[] {
  return specs.flatMap((spec, at) => {
    const action = actions[at];
    return action === undefined ? [] : [{ action, spec, prompt: promptOf(spec) }];
  });
}

function promptOf(spec: RunSpec): string {
  if (spec.kind === "wake") return wakeText(spec);
  if (spec.mode === "deliver") return passedOnText(spec);
  const prompt = instructedPrompt(spec, { now: new Date(), interrupted: false });
  if (spec.extract === undefined) return prompt;
  return [extractionInstructions(spec.extract), extractionPrompt(spec), prompt].join("\n\n");
}

/** A transform whose calls are timed and remembered. */
class RecordedCalls {
  readonly all: TrialCall[] = [];
  readonly #call: CallTransform;
  #first: TransformCall | undefined;

  constructor(call: CallTransform) {
    this.#call = call;
  }

  readonly call: CallTransform = async (given) => {
    this.#first ??= given;
    const begun = performance.now();
    const timed = () => ({ ms: performance.now() - begun });
    try {
      const value = await this.#call(given);
      this.all.push({ ...timed(), ok: true, value });
      return value;
    } catch (error) {
      this.all.push({ ...timed(), ok: false, reason: reasonOf(error) });
      throw error;
    }
  };

  /** Makes the first call some more times; the median in milliseconds, `undefined` when one fails. */
  async again(): Promise<number | undefined> {
    if (this.#first === undefined || this.all.some(({ ok }) => !ok)) return undefined;
    const times: number[] = [];
    const deadline = performance.now() + WARM_MS;
    do {
      const begun = performance.now();
      try {
        await this.#call(this.#first);
      } catch {
        return undefined;
      }
      times.push(performance.now() - begun);
    } while (times.length < WARM_CALLS && performance.now() < deadline);
    return times.toSorted((left, right) => left - right)[times.length >> 1];
  }
}
