/** The keys of a mapping that say which events it takes, and how its runs are carried out and answered. */
import Type from "typebox";
import { MappingRetrySchema } from "./retry.ts";
import { DAY_SECONDS, seconds, template, text, WAIT_SECONDS, whole, withDefault } from "./schema-parts.ts";

const RUNS_PER_HOUR = { minimum: 1, maximum: 1_000_000 };
const RUNS_PER_DAY = { minimum: 1, maximum: 10_000_000 };
/** Characters of a `when`. */
const MAX_CONDITION = 4_096;

const CoalesceSchema = Type.Object(
  {
    key: template(
      "What calls have in common that are coalesced; a template. Absent: all calls of the mapping for one session are.",
    ),
    windowSeconds: seconds(
      { minimum: 0.1, maximum: DAY_SECONDS },
      "The run begins once no further call has come for that long.",
    ),
    maxWaitSeconds: Type.Optional(
      seconds(
        { minimum: 0.1, maximum: 7 * DAY_SECONDS },
        "The run begins no later than that after the first call. Absent: ten times the window, at most 7 days.",
      ),
    ),
    mode: withDefault(
      Type.Enum(["latest", "list"], {
        description: "Which calls the prompt renders: the last one, or each. It says how many they were either way.",
      }),
      "latest",
    ),
  },
  {
    additionalProperties: false,
    description: "Makes one run of calls that come shortly after one another. Not together with `forEach`.",
  },
);

/** Where something goes that has another place as a rule. */
export const channelTarget = (description: string) =>
  Type.Object(
    {
      channel: text({
        description: "`last` or the id of a channel of the gateway.",
        title: "the name of a channel",
        pattern: "\\S",
      }),
      to: Type.Optional(
        text({ description: "Recipient on that channel. Absent: the channel's own, or that of the last message." }),
      ),
    },
    { additionalProperties: false, description },
  );

/** `budget` of the hooks and of a mapping. */
export const BudgetSchema = Type.Object(
  {
    perHour: Type.Optional(whole(RUNS_PER_HOUR, "Runs that may begin in any 60 minutes.")),
    perDay: Type.Optional(whole(RUNS_PER_DAY, "Runs that may begin in any 24 hours.")),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    title: "an object with perHour, perDay or both",
    description:
      "How many runs may begin. Once they are used up the mapping is paused (all mappings, for `hooks.budget`) and a notice is sent: what comes in is kept, and runs begin again after `reveille hooks resume`.",
  },
);

const RespondSchema = Type.Union(
  [
    Type.String({ pattern: "^result$", title: '"result" or an object of settings' }),
    Type.Object(
      {
        status: withDefault(whole({ minimum: 200, maximum: 299 }, "Status of the answer."), 200),
        headers: Type.Optional(
          Type.Record(Type.String(), Type.String({ maxLength: 1_024 }), {
            maxProperties: 16,
            title: "an object of at most 16 headers",
            description: "Headers of the answer, such as `content-type`. Not templates.",
          }),
        ),
        body: template(
          "Content of the answer; a template, in which `{{deliveryId}}` and `{{runId}}` stand for the delivery and its first run. Absent: the ordinary content.",
        ),
      },
      { additionalProperties: false, description: "What the answer is, where it is an object." },
    ),
  ],
  {
    title: '"result" or an object of settings',
    description:
      '`"result"`: the answer waits until the run is settled, and has its state and reply. An object: what the sender needs as an answer to an accepted call. Absent: 200 or 202 as usual.',
  },
);

export const RUN_KEYS = {
  events: Type.Optional(
    Type.Array(text({ description: "", title: "the name of an event", pattern: "\\S" }), {
      minItems: 1,
      maxItems: 1_000,
      description:
        "Events that are taken, by the preset's names for them such as `pull_request.opened`; without regard to case, `*` stands for any characters. All others are filtered. Needs `preset`.",
    }),
  ),
  when: Type.Optional(
    text({
      description:
        "A condition in CEL (cel.dev) over `payload`, `headers`, `query`, `event` and `sender` (`name`, `id`, `bot`). What does not meet it is filtered, and so is what cannot be told, such as a comparison with a field that is not there.",
      title: "a condition",
      maxLength: MAX_CONDITION,
      pattern: "\\S",
    }),
  ),
  coalesce: Type.Optional(CoalesceSchema),
  order: withDefault(
    Type.Enum(["strict", "none"], {
      description:
        "`strict`: runs of one session are carried out one after the other, in order of acceptance. `none`: a run waits for no other.",
    }),
    "strict",
  ),
  overlap: withDefault(
    Type.Enum(["queue", "skip", "latest"], {
      description:
        "What happens to a call while a run of the mapping for the same session is open. `queue`: it gets its turn. `skip`: it is skipped. `latest`: it takes the place of those that have not begun.",
    }),
    "queue",
  ),
  maxAgeSeconds: Type.Optional(
    seconds(
      { minimum: 1, maximum: 30 * DAY_SECONDS },
      "A run that has not begun after that long is skipped. Absent: never.",
    ),
  ),
  priority: withDefault(
    Type.Enum(["high", "normal", "low"], { description: "Which of the runs that wait for a free place go first." }),
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
        "`run`: the agent is asked. `deliver`: the rendered message itself goes to the channel, and no agent is asked.",
    }),
    "run",
  ),
};
