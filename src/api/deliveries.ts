import Type from "typebox";
import type { DeliverySummary } from "../core/delivery.ts";
import type { State } from "../core/run.ts";
import { ERRORS, isRefusal, type Refusal } from "../core/errors.ts";
import { type Answer, answerJson, answerRefusal } from "../http/answer.ts";
import type { BulkOptions, BulkOutcome, DeliveryOperations, Operation, OperationOutcome, Target } from "../index.ts";
import { FILTER_NAMES, noteSchema, readBulkRequest, readFilter } from "./selection.ts";
import { type ApiCall, type ApiEndpoints, type ApiReply, type ApiSources, decodeSegment } from "./endpoint.ts";
import { answerError } from "./errors.ts";
import { ApiQueryError, compileBodyReader, readApiQuery, readPage } from "./request.ts";

const readEmptyBody = compileBodyReader<object>(Type.Object({}, { additionalProperties: false }));
const readReplayBody = compileBodyReader<{ readonly asAccepted?: boolean }>(
  Type.Object({ asAccepted: Type.Optional(Type.Boolean()) }, { additionalProperties: false }),
);

const readResolveBody = compileBodyReader<{ readonly note?: string }>(
  Type.Object({ note: Type.Optional(noteSchema) }, { additionalProperties: false }),
);

/** `/api/v1/deliveries`: what arrived, its outcome, and what an operator does about it. */
export class DeliveriesApi {
  readonly #sources: Pick<ApiSources, "operations" | "clock">;

  constructor(sources: Pick<ApiSources, "operations" | "clock">) {
    this.#sources = sources;
  }

  endpoints(): ApiEndpoints {
    return {
      deliveries: { GET: (call) => this.#list(call) },
      "deliveries/*": { GET: (call) => this.#get(call), DELETE: (call) => this.#purge(call) },
      "deliveries/*/body": { GET: (call) => this.#body(call) },
      "deliveries/*/replay": { POST: (call) => this.#replay(call) },
      "deliveries/*/release": { POST: (call) => this.#release(call) },
      "deliveries/*/cancel": { POST: (call) => this.#cancel(call) },
      "deliveries/*/resolve": { POST: (call) => this.#resolve(call) },
      "deliveries/replay": { POST: (call) => this.#bulk("replay", call) },
      "deliveries/release": { POST: (call) => this.#bulk("release", call) },
      "deliveries/cancel": { POST: (call) => this.#bulk("cancel", call) },
      "deliveries/purge": { POST: (call) => this.#bulk("purge", call) },
      "deliveries/resolve": { POST: (call) => this.#bulk("resolve", call) },
    };
  }

  /** A page of deliveries; `search` is a query without the question mark. */
  async list(search: string): Promise<object> {
    const query = readApiQuery(search, [...FILTER_NAMES, "open", "limit", "cursor"]);
    const filter = readFilter(Object.fromEntries(query), this.#sources.clock.now());
    const open = readOpen(query.get("open"), filter.state);
    const { deliveries, ...page } = await this.#deliveries.list({ ...readPage(query), ...filter, open });
    return { deliveries: deliveries.map(withSender), ...page };
  }

  /** One delivery. Rejects with an {@link ApiQueryError} when there is none. */
  async get(id: string): Promise<object> {
    const delivery = await this.#deliveries.get(id);
    if (delivery === undefined) throw new ApiQueryError(`There is no delivery ${JSON.stringify(id.slice(0, 100))}.`);
    return withSender(delivery);
  }

  /** Operates on many deliveries at once. */
  async bulk(operation: Operation, target: Target, options: BulkOptions): Promise<object> {
    return bulkJson(await this.#deliveries.bulk(operation, target, options), options);
  }

  /** Replays one delivery: `outcome` says whether it was. */
  async replay(id: string): Promise<object> {
    return { id, ...outcomeJson(await this.#deliveries.replay(id, { asAccepted: false })) };
  }

  get #deliveries(): DeliveryOperations {
    return this.#sources.operations().deliveries;
  }

  async #list({ search }: ApiCall): Promise<Answer> {
    return answerJson(200, await this.list(search));
  }

  async #get(call: ApiCall): Promise<ApiReply> {
    const delivery = await this.#deliveries.get(readId(call));
    return delivery && answerJson(200, withSender(delivery));
  }

  async #body(call: ApiCall): Promise<ApiReply> {
    const id = readId(call);
    const bytes = await this.#deliveries.body(id);
    return bytes && { bytes, fileName: `${id}.bin` };
  }

  async #replay(call: ApiCall): Promise<ApiReply> {
    const id = readId(call);
    const { asAccepted = false } = await readReplayBody(call.req);
    return answerOutcome(id, await this.#deliveries.replay(id, { asAccepted }));
  }

  async #release(call: ApiCall): Promise<ApiReply> {
    const id = readId(call);
    await readEmptyBody(call.req);
    return answerOutcome(id, await this.#deliveries.release(id));
  }

  async #cancel(call: ApiCall): Promise<ApiReply> {
    const id = readId(call);
    await readEmptyBody(call.req);
    return answerOutcome(id, await this.#deliveries.cancel(id));
  }

  async #resolve(call: ApiCall): Promise<ApiReply> {
    const id = readId(call);
    const { note } = await readResolveBody(call.req);
    return answerOutcome(id, await this.#deliveries.resolve(id, note));
  }

  async #purge(call: ApiCall): Promise<ApiReply> {
    const id = readId(call);
    return answerOutcome(id, await this.#deliveries.purge(id));
  }

  async #bulk(operation: Operation, { req, search }: ApiCall): Promise<Answer> {
    readApiQuery(search, []);
    const now = this.#sources.clock.now();
    const { target, options } = await readBulkRequest(req, { operation, now });
    return answerJson(200, await this.bulk(operation, target, options));
  }
}

/** `open=true` asks for dead letters, so that another state contradicts it. */
function readOpen(text: string | undefined, state: State | undefined): boolean {
  if (text !== undefined && text !== "true" && text !== "false") {
    throw new ApiQueryError("open must be true or false.");
  }
  if (text === "true" && state !== undefined && state !== "failed") {
    throw new ApiQueryError("open asks for failed deliveries; leave state out.");
  }
  return text === "true";
}

/** Adds `sender`, the earlier name of `actor`, for clients that still read it. */
function withSender<Delivery extends DeliverySummary>(
  delivery: Delivery,
): Delivery & { readonly sender: string | null } {
  return { ...delivery, sender: delivery.actor };
}

function readId({ key, search }: ApiCall): string {
  readApiQuery(search, []);
  return decodeSegment(key);
}

function answerOutcome(id: string, outcome: OperationOutcome): ApiReply {
  switch (outcome.kind) {
    case "unknown":
      return undefined;
    case "left":
      return answerError("WRONG_STATE", { message: `Nothing was done: ${outcome.reason}.` });
    case "refused":
      return answerRefusal(outcome.refusal);
    case "replayed":
    case "canceled":
    case "released":
    case "removed":
    case "resolved":
    case "emptied":
    case "planned":
      return answerJson(200, { ok: true, id, ...outcomeJson(outcome) });
  }
}

/** The outcome of an operation on one delivery, in the form of the API. */
function outcomeJson(outcome: OperationOutcome): object {
  switch (outcome.kind) {
    case "replayed": {
      const { deliveryId, runIds, state, gathered } = outcome;
      const replay = { deliveryId, runIds, state };
      return {
        outcome: outcome.kind,
        replay: gathered === undefined ? replay : { ...replay, ...coalescedJson(gathered) },
      };
    }
    case "canceled":
    case "released":
      return { outcome: outcome.kind, runs: outcome.runs };
    case "left":
      return { outcome: outcome.kind, reason: outcome.reason };
    case "refused":
      return { outcome: outcome.kind, ...refusalJson(outcome.refusal) };
    case "planned":
      return { outcome: outcome.kind, ...(outcome.replay && { replay: outcome.replay }) };
    case "removed":
    case "resolved":
    case "emptied":
    case "unknown":
      return { outcome: outcome.kind };
  }
}

type CoalescedReplays = NonNullable<Extract<OperationOutcome, { kind: "replayed" }>["gathered"]>;

function coalescedJson({ deliveries, left, stopped }: CoalescedReplays): object {
  return {
    gathered: deliveries.map(({ of: id, result }) =>
      isRefusal(result)
        ? { id, outcome: "refused", ...refusalJson(result) }
        : { id, outcome: "replayed", replay: { deliveryId: result.deliveryId, state: result.state } },
    ),
    left,
    stopped: stopped === undefined ? null : refusalJson(stopped),
  };
}

function refusalJson({ refused: code, message }: Refusal): { readonly code: string; readonly error: string } {
  return { code, error: message ?? ERRORS[code].message };
}

/** The answer to an operation on many deliveries; states are those from before. */
function bulkJson(bulk: BulkOutcome, { dryRun }: { dryRun: boolean }): object {
  const { matched, more, deliveries, unknown, stopped } = bulk;
  return {
    ok: stopped === undefined,
    dryRun,
    matched,
    more,
    stopped: stopped === undefined ? null : refusalJson(stopped),
    deliveries: [
      ...unknown.map((id) => ({ id, outcome: "unknown" })),
      ...deliveries.map(({ delivery: { id, state, route, name, receivedAt }, outcome }) => ({
        id,
        state,
        route,
        name,
        receivedAt,
        ...outcomeJson(outcome),
      })),
    ],
  };
}
