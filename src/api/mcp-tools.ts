/** The tools of the MCP server: what a client's agent reads of the gateway, and the little that it may change. */
import Type, { type Static, type TObject } from "typebox";
import { OPERATOR_ERRORS } from "../core/errors.ts";
import { UnknownScopeError, WaitRequestSchema, WaitTrialSchema } from "../index.ts";
import { DeliveriesApi } from "./deliveries.ts";
import type { ApiSources } from "./endpoint.ts";
import { knownFailure } from "./errors.ts";
import { ApiQueryError } from "./request.ts";
import { WaitsApi } from "./waits.ts";
import { FILTER_NAMES, noteSchema, readFilter } from "./selection.ts";

/** What a token allows; `write` includes `read`. */
export type McpScope = "read" | "write";

export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly scope: McpScope;
  /** JSON Schema. */
  readonly input: object;
  /** Rejects with an error that {@link textForClient} has words for, or with a defect. */
  readonly call: (input: never) => Promise<object>;
}

const MAX_IDS = 100;

const strict = { additionalProperties: false } as const;
const word = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 1_024, description }));
const idSchema = Type.String({ minLength: 1, maxLength: 100, description: "The delivery's id." });
const idsSchema = Type.Array(idSchema, { minItems: 1, maxItems: MAX_IDS, description: "Ids of deliveries." });
const hookSchema = Type.String({ minLength: 1, maxLength: 200, description: "The mapping's id." });

const filterProperties = {
  state: word("queued, running, held, done, failed, canceled, filtered, skipped, duplicate or coalesced."),
  route: word("The route that was called."),
  actor: word("The person behind the event."),
  level: word("The actor's level: owner, trusted, known, unknown or blocked."),
  chain: word("The chain of events that it belongs to."),
  since: word("The earliest receipt: a time in ISO 8601, or how long ago, such as 2h."),
  until: word("The latest receipt, in the same forms."),
  text: word("A text in its rendered message or its payload."),
};
const pageProperties = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, description: "Deliveries of a page; 20 when absent." })),
  cursor: word("nextCursor of the page before."),
};

/** Every tool; a tool that a host adds comes last. */
export function mcpTools(sources: ApiSources): readonly McpTool[] {
  const { operations, clock } = sources;
  const deliveries = new DeliveriesApi(sources);
  const waits = new WaitsApi(sources);

  return [
    tool({
      name: "list_deliveries",
      description: "Lists accepted calls, the newest first: id, state, mapping, actor, times.",
      input: Type.Object({ ...filterProperties, ...pageProperties }, strict),
      call: (input) => deliveries.list(searchOf(input)),
    }),
    tool({
      name: "show_delivery",
      description: "Shows one delivery: its runs, attempts, prompts, replies and what became wrong.",
      input: Type.Object({ id: idSchema }, strict),
      call: ({ id }) => deliveries.get(id),
    }),
    tool({
      name: "explain_delivery",
      description: "Says what the active configuration would make of a stored delivery now, and why.",
      input: Type.Object({ id: idSchema }, strict),
      call: async ({ id }) => found(id, await operations().previews.delivery(id)),
    }),
    tool({
      name: "explain_call",
      description:
        "Says what the active configuration makes of a payload: which mapping, filtered by what, which runs.",
      input: Type.Object(
        {
          path: Type.String({ minLength: 1, maxLength: 1_000, description: "Below the hooks' path, such as github." }),
          payload: Type.String({ maxLength: 262_144, description: "The body." }),
          contentType: word("application/json, or that of the delivery, when absent."),
          delivery: word("The id of a stored delivery whose headers and query it has."),
        },
        strict,
      ),
      call: async ({ path, payload, contentType, delivery: like }) => {
        const body = new TextEncoder().encode(payload);
        return found(like ?? "", await operations().previews.sample({ path, contentType, like, body }));
      },
    }),
    tool({
      name: "backtest",
      description: "Compares stored deliveries with what the active configuration would make of them.",
      input: Type.Object({ ...filterProperties, ...pageProperties }, strict),
      call: async ({ limit = 20, cursor, ...filter }) => {
        const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
        return await operations().previews.backtest(readFilter(filter, clock.now()), page);
      },
    }),
    tool({
      name: "list_hooks",
      description:
        "Lists the mappings: whether they are paused or set aside, what they have used, what they can reach.",
      input: Type.Object({}, strict),
      call: () => operations().hooks.list(),
    }),
    tool({
      name: "list_outages",
      description: "Lists what is out of order now: agents, providers, channels.",
      input: Type.Object({}, strict),
      call: async () => ({ outages: operations().gauges.outages }),
    }),
    tool({
      name: "list_waits",
      description: "Lists the sessions that wait for events, and why each has not been resumed yet.",
      input: Type.Object({}, strict),
      call: async () => ({ waits: await operations().waits.list() }),
    }),
    tool({
      name: "backtest_wait",
      description: "Says when a wait would have been fulfilled by the deliveries that are stored; changes nothing.",
      input: WaitTrialSchema,
      call: (trial) => waits.backtest(trial),
    }),
    tool({
      name: "plan_replay",
      description:
        "Says which deliveries a replay would take and what it would do; changes nothing. Before replay_deliveries.",
      input: Type.Object(filterProperties, { ...strict, minProperties: 1 }),
      call: async (filter) => {
        const target = { filter: readFilter(filter, clock.now()), limit: MAX_IDS };
        return await deliveries.bulk("replay", target, { dryRun: true, asAccepted: false });
      },
    }),
    tool({
      name: "replay_deliveries",
      scope: "write",
      description: "Replays the deliveries with these ids, each with the active configuration. Call plan_replay first.",
      input: Type.Object({ ids: idsSchema }, strict),
      call: ({ ids }) => deliveries.bulk("replay", { ids }, { dryRun: false, asAccepted: false }),
    }),
    tool({
      name: "resolve_deliveries",
      scope: "write",
      description: "Marks failed deliveries as needing nothing more.",
      input: Type.Object({ ids: idsSchema, note: Type.Optional(noteSchema) }, strict),
      call: ({ ids, note }) => deliveries.bulk("resolve", { ids }, { dryRun: false, asAccepted: false, note }),
    }),
    tool({
      name: "pause_hook",
      scope: "write",
      description: "Pauses a mapping: it accepts calls and begins no runs.",
      input: Type.Object({ hook: hookSchema }, strict),
      call: async ({ hook }) => ({ hook, changed: await operations().hooks.pause(hook) }),
    }),
    tool({
      name: "resume_hook",
      scope: "write",
      description: "Resumes a paused mapping.",
      input: Type.Object({ hook: hookSchema }, strict),
      call: async ({ hook }) => ({ hook, changed: await operations().hooks.resume(hook) }),
    }),
    tool({
      name: "add_wait",
      scope: "write",
      description: "Lets a session wait for an event: it is resumed when that comes, or at the deadline.",
      input: WaitRequestSchema,
      call: (request) => waits.add(request),
    }),
    tool({
      name: "cancel_wait",
      scope: "write",
      description: "Ends a wait: its session is not resumed.",
      input: Type.Object({ id: Type.String({ minLength: 1, maxLength: 100, description: "The wait's id." }) }, strict),
      call: async ({ id }) => ({ id, canceled: await operations().waits.cancel(id) }),
    }),
    tool({
      name: "probe_hook",
      scope: "write",
      description: "Sends a signed sample to a mapping at the public URL, to see whether calls arrive. Runs nothing.",
      input: Type.Object({ hook: hookSchema }, strict),
      call: ({ hook }) => operations().probes.probe(hook),
    }),
  ];
}

/** Why a tool did not do what it was asked for, in words for the client. */
export class ToolProblem extends Error {
  override readonly name = "ToolProblem";
}

/** What the client is told about an error, as a caller of the API would be; `undefined`: it is a defect. */
export function textForClient(error: unknown): string | undefined {
  if (error instanceof UnknownScopeError || error instanceof ToolProblem) return error.message;
  const failure = knownFailure(error);
  return failure && (failure.message ?? OPERATOR_ERRORS[failure.code].message);
}

interface ToolParts<Input extends TObject> {
  readonly name: string;
  readonly description: string;
  /** Default: `read`. */
  readonly scope?: McpScope;
  readonly input: Input;
  readonly call: (input: Static<Input>) => Promise<object>;
}

export function tool<Input extends TObject>({ scope = "read", ...parts }: ToolParts<Input>): McpTool {
  return { scope, ...parts };
}

function searchOf({ limit = 20, ...filter }: Readonly<Record<string, string | number | undefined>>): string {
  const search = new URLSearchParams({ limit: String(limit) });
  for (const name of [...FILTER_NAMES, "cursor"]) {
    const value = filter[name];
    if (value !== undefined) search.set(name, String(value));
  }
  return search.toString();
}

function found<Value>(id: string, value: Value | undefined): Value {
  if (value === undefined) throw new ApiQueryError(`There is no delivery ${JSON.stringify(id)}.`);
  return value;
}
