/** The keys of a mapping that select events and control its runs and its answers. */
import Type, { type Static } from "typebox";
import type { Permissions } from "../core/agent-rights.ts";
import { PermissionsSchema, readPermissions } from "./permissions.ts";
import { readWorkspace, type WorkspaceConfig, WorkspaceSchema } from "./workspace.ts";
import type { ExtractSpec } from "../core/extraction.ts";
import type { CoalesceMode } from "../core/run.ts";
import { type BudgetConfig, BudgetSchema, readBudget } from "./budget.ts";
import { type ChannelChoice, channelTarget, readTarget } from "./channel-target.ts";
import type { Findings } from "./errors.ts";
import { ExtractSchema, readExtract } from "./extract/schema.ts";
import { readRelease, type ReleaseConfig, ReleaseSchema } from "./release.ts";
import { readRespond, readWaitMaking, type RespondConfig, RespondSchema, type WaitMaking } from "./respond.ts";
import { MappingRetrySchema, readRetry, type RetryConfig } from "./retry.ts";
import {
  DAY_SECONDS,
  duration,
  milliseconds,
  readTtlMs,
  seconds,
  template,
  text,
  WAIT_SECONDS,
  whole,
  withDefault,
} from "./schema-parts.ts";

const EXPECT_EVERY_SECONDS = { minimum: 0, maximum: 365 * DAY_SECONDS };

/** Characters of a `when`. */
const MAX_CONDITION = 4_096;

const CoalesceSchema = Type.Object(
  {
    key: template(
      "Calls with the same key are coalesced; a template. Absent: all calls of the mapping for one session are.",
    ),
    windowSeconds: seconds(
      { minimum: 0.1, maximum: DAY_SECONDS },
      "The run begins once no further call has arrived for that long.",
    ),
    maxWaitSeconds: Type.Optional(
      seconds(
        { minimum: 0.1, maximum: 7 * DAY_SECONDS },
        "The run begins no later than that after the first call. Absent: ten times the window, at most 7 days.",
      ),
    ),
    mode: withDefault(
      Type.Enum(["latest", "list"], {
        description: "The prompt renders the last call or each of them. It always says how many there were.",
      }),
      "latest",
    ),
  },
  {
    additionalProperties: false,
    description: "Makes one run of calls that arrive shortly after one another. Not together with `forEach`.",
  },
);

export const RUN_KEYS = {
  events: Type.Optional(
    Type.Array(text({ description: "", title: "the name of an event", pattern: "\\S" }), {
      minItems: 1,
      maxItems: 1_000,
      description:
        "Events that the mapping takes, by the preset's names such as `pull_request.opened`. Case does not count, `*` matches any characters. All others are filtered. Needs `preset`.",
    }),
  ),
  when: Type.Optional(
    text({
      description:
        "A condition in CEL (cel.dev) over `payload`, `headers`, `query`, `event` and `actor` (`name`, `id`, `bot`, `role`, `level`). A call that does not meet it is filtered, and so is one for which the condition cannot be evaluated, such as a comparison with a missing field.",
      title: "a condition",
      maxLength: MAX_CONDITION,
      pattern: "\\S",
    }),
  ),
  coalesce: Type.Optional(CoalesceSchema),
  order: withDefault(
    Type.Enum(["strict", "none"], {
      description:
        "`strict`: the runs of a session take place one after the other, in the order of acceptance. `none`: a run does not wait for others.",
    }),
    "strict",
  ),
  overlap: withDefault(
    Type.Enum(["queue", "skip", "latest"], {
      description:
        "The fate of a call while a run of the mapping for the same session is open. `queue`: it waits for its turn. `skip`: it is skipped. `latest`: it replaces the runs that have not begun.",
    }),
    "queue",
  ),
  maxAgeSeconds: Type.Optional(
    seconds(
      { minimum: 1, maximum: 30 * DAY_SECONDS },
      "A run that has not begun after that long is skipped. Absent: never.",
    ),
  ),
  expectEvery: Type.Optional(
    duration(
      EXPECT_EVERY_SECONDS,
      "The longest time without an accepted call of the route that is normal; after it the owner gets a notice. `0`: none is expected. Absent: learned from the calls of the last 14 days.",
    ),
  ),
  priority: withDefault(
    Type.Enum(["high", "normal", "low"], { description: "The priority of runs that wait for a free place." }),
    "normal",
  ),
  concurrency: Type.Optional(
    whole(
      { minimum: 1, maximum: 256 },
      "Runs of the mapping at once. Absent: `hooks.concurrency`, which also bounds it.",
    ),
  ),
  retry: Type.Optional(MappingRetrySchema),
  fallback: Type.Optional(channelTarget("Where the reply goes when it cannot be delivered to `channel`.")),
  budget: Type.Optional(BudgetSchema),
  permissions: Type.Optional(
    PermissionsSchema(
      "What the mapping leaves of what its agent may do; it never raises that. Absent: all of it. Needs a host that knows permissions.",
    ),
  ),
  workspace: Type.Optional(WorkspaceSchema),
  extract: Type.Optional(ExtractSchema),
  release: Type.Optional(ReleaseSchema),
  respond: Type.Optional(RespondSchema),
  waitSeconds: Type.Optional(
    seconds(
      WAIT_SECONDS,
      'How long a caller waits with `respond: "result"`, after which the answer is 202. Absent: `hooks.waitSeconds`.',
    ),
  ),
  mode: withDefault(
    Type.Enum(["run", "deliver"], {
      description:
        "`run`: an agent runs. `deliver`: the rendered message itself goes to the channel, and no agent runs.",
    }),
    "run",
  ),
};

/** These keys as they may be written. */
type RunInput = Static<ReturnType<typeof Type.Object<typeof RUN_KEYS>>>;

export type Priority = "high" | "normal" | "low";

export interface CoalesceConfig {
  /** A template. */
  readonly key: string;
  readonly windowMs: number;
  readonly maxWaitMs: number;
  readonly mode: CoalesceMode;
}

/** The events that a mapping takes, and the rules of its runs and answers. */
export interface RunConfig {
  /** Names of the events that the mapping takes; `*` matches any characters. Empty: all. */
  readonly events: readonly string[];
  /** A condition in CEL over `payload`, `headers`, `query`, `event` and `actor`. */
  readonly when: string | undefined;
  readonly coalesce: CoalesceConfig | undefined;
  /** `none`: its runs wait for no other run of their session. */
  readonly order: "strict" | "none";
  /** The fate of a call while a run of the mapping (and session, when it names one) is open. */
  readonly overlap: "queue" | "skip" | "latest";
  /** A run that has not begun after that long is dropped. */
  readonly maxAgeMs: number | undefined;
  /** The longest normal silence of the route; 0: any; `undefined`: it is learned. */
  readonly expectEveryMs?: number | undefined;
  /** The order of runs that wait for a free place. */
  readonly priority: Priority;
  /** Runs of the mapping at once; `undefined`: as many as `hooks.concurrency`. */
  readonly concurrency: number | undefined;
  readonly retry: RetryConfig;
  readonly fallback: ChannelChoice | undefined;
  readonly budget: BudgetConfig | undefined;
  /** What is left of what the agent may do; `undefined`: all of it. */
  readonly permissions?: Permissions | undefined;
  /** Where the agent works; `undefined`: where it works otherwise. */
  readonly workspace?: WorkspaceConfig | undefined;
  /** What its runs see instead of the payload; `undefined`: the payload itself. */
  readonly extract?: ExtractSpec | undefined;
  /** Events that release what is held; `undefined`: only a person does. */
  readonly release?: ReleaseConfig | undefined;
  readonly respond: RespondConfig;
  /** The wait that an accepted event makes; `undefined`: none. */
  readonly wait?: WaitMaking | undefined;
  /** The longest wait of a caller for the result; `undefined`: `hooks.waitSeconds`. */
  readonly waitMs: number | undefined;
  /** `deliver`: the rendered text goes to the channel, and no agent runs. */
  readonly mode: "run" | "deliver";
}

const MAX_WAIT_MS = 7 * 86_400_000;
/** The default of `maxWaitSeconds`, in windows. */
const WINDOWS = 10;

/**
 * Fills in the keys of {@link RUN_KEYS} that a mapping leaves out, from its preset's mapping `given` and,
 * for `retry`, from `hooks.retry`; `where` is the key of the mapping.
 */
export function normalizeRun(
  input: RunInput,
  given: Partial<RunConfig>,
  { where, retry, findings }: { where: string; retry: RetryConfig; findings: Findings },
): RunConfig {
  const { order, overlap, priority, mode } = RUN_KEYS;
  return {
    events: input.events?.map((event) => event.trim()) ?? given.events ?? [],
    when: input.when ?? given.when,
    coalesce: input.coalesce ? readCoalesce(input.coalesce) : given.coalesce,
    order: input.order ?? given.order ?? order.default,
    overlap: input.overlap ?? given.overlap ?? overlap.default,
    maxAgeMs: inMilliseconds(input.maxAgeSeconds) ?? given.maxAgeMs,
    expectEveryMs:
      input.expectEvery === undefined
        ? given.expectEveryMs
        : readTtlMs(input.expectEvery, `${where}.expectEvery`, findings, EXPECT_EVERY_SECONDS),
    priority: input.priority ?? given.priority ?? priority.default,
    concurrency: input.concurrency ?? given.concurrency,
    retry: readRetry(input.retry, given.retry ?? retry, `${where}.retry`, findings),
    fallback: input.fallback ? readTarget(input.fallback) : given.fallback,
    budget: input.budget ? readBudget(input.budget) : given.budget,
    permissions:
      input.permissions === undefined
        ? given.permissions
        : readPermissions(input.permissions, `${where}.permissions`, findings),
    workspace: input.workspace ? readWorkspace(input.workspace, `${where}.workspace`, findings) : given.workspace,
    release: input.release ? readRelease(input.release) : given.release,
    extract: input.extract ? readExtract(input.extract, `${where}.extract`, findings) : given.extract,
    respond: input.respond
      ? readRespond(input.respond, `${where}.respond`, findings)
      : (given.respond ?? { kind: "ordinary" }),
    wait: readWaitMaking(input.respond, `${where}.respond`, findings) ?? given.wait,
    waitMs: inMilliseconds(input.waitSeconds) ?? given.waitMs,
    mode: input.mode ?? given.mode ?? mode.default,
  };
}

function readCoalesce({
  key = "",
  windowSeconds,
  maxWaitSeconds,
  mode,
}: Static<typeof CoalesceSchema>): CoalesceConfig {
  const windowMs = milliseconds(windowSeconds);
  return {
    key,
    windowMs,
    maxWaitMs: inMilliseconds(maxWaitSeconds) ?? Math.min(WINDOWS * windowMs, MAX_WAIT_MS),
    mode: mode ?? RUN_KEYS.coalesce.properties.mode.default,
  };
}

function inMilliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : milliseconds(seconds);
}
