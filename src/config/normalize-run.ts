import type { Findings } from "./errors.ts";
import type { BudgetConfig, CoalesceConfig, MappingConfig, RetryConfig } from "./hooks-config.ts";
import type { PresetMapping } from "./preset.ts";
import { milliseconds } from "./schema-parts.ts";
import { readRespond } from "./respond.ts";
import { readRetry } from "./retry.ts";
import { RUN_KEYS } from "./run.ts";
import type { MappingInput } from "./hooks.ts";

/** What of a mapping says which events it takes, and how its runs are carried out and answered. */
type RunPart = Pick<
  MappingConfig,
  | "events"
  | "when"
  | "coalesce"
  | "order"
  | "overlap"
  | "maxAgeMs"
  | "priority"
  | "concurrency"
  | "retry"
  | "fallback"
  | "budget"
  | "respond"
  | "waitMs"
  | "mode"
>;

const MAX_WAIT_MS = 7 * 86_400_000;
/** Windows that a run waits for at most, when nobody says how long. */
const WINDOWS = 10;

/**
 * Fills in the keys of {@link "./run-schema".RUN_KEYS} that a mapping leaves out, from its preset's mapping
 * `given` and, for `retry`, from that of the hooks; `where` is the mapping's place.
 */
export function normalizeRun(
  input: MappingInput,
  given: Partial<PresetMapping>,
  { where, retry, findings }: { where: string; retry: RetryConfig; findings: Findings },
): RunPart {
  const { order, overlap, priority, mode } = RUN_KEYS;
  return {
    events: input.events?.map((event) => event.trim()) ?? given.events ?? [],
    when: input.when ?? given.when,
    coalesce: input.coalesce ? readCoalesce(input.coalesce) : given.coalesce,
    order: input.order ?? given.order ?? order.default,
    overlap: input.overlap ?? given.overlap ?? overlap.default,
    maxAgeMs: inMilliseconds(input.maxAgeSeconds) ?? given.maxAgeMs,
    priority: input.priority ?? given.priority ?? priority.default,
    concurrency: input.concurrency ?? given.concurrency,
    retry: readRetry(input.retry, given.retry ?? retry, `${where}.retry`, findings),
    fallback: input.fallback ? readTarget(input.fallback) : given.fallback,
    budget: input.budget ? readBudget(input.budget) : given.budget,
    respond: input.respond
      ? readRespond(input.respond, `${where}.respond`, findings)
      : (given.respond ?? { kind: "ordinary" }),
    waitMs: inMilliseconds(input.waitSeconds) ?? given.waitMs,
    mode: input.mode ?? given.mode ?? mode.default,
  };
}

function readCoalesce({
  key = "",
  windowSeconds,
  maxWaitSeconds,
  mode,
}: NonNullable<MappingInput["coalesce"]>): CoalesceConfig {
  const windowMs = milliseconds(windowSeconds);
  return {
    key,
    windowMs,
    maxWaitMs: inMilliseconds(maxWaitSeconds) ?? Math.min(WINDOWS * windowMs, MAX_WAIT_MS),
    mode: mode ?? RUN_KEYS.coalesce.properties.mode.default,
  };
}

/** A channel and a recipient, as `fallback` and `hooks.notices` name them. */
export function readTarget({ channel, to }: { channel: string; to?: string }): {
  readonly channel: string;
  readonly to: string | undefined;
} {
  return { channel: channel.trim(), to: to?.trim() || undefined };
}

export function readBudget({ perHour, perDay }: { perHour?: number; perDay?: number }): BudgetConfig {
  return { perHour, perDay };
}

function inMilliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : milliseconds(seconds);
}
