import Type from "typebox";
import { answerJson, answerRefusal } from "../http/answer.ts";
import type { Answer } from "../http/answer.ts";
import type { DeliveryOperations, Operation, OperationOutcome } from "../index.ts";
import { answerError } from "./errors.ts";
import { compileBodyReader } from "./body.ts";
import type { ApiCall, ApiEndpoints, ApiReply } from "./endpoint.ts";
import { decodeSegment } from "./paths.ts";
import { readApiQuery, readPage } from "./query.ts";
import type { ApiSources } from "./sources.ts";
import { readBulkRequest } from "./bulk-request.ts";
import { FILTER_NAMES, readFilter } from "./delivery-filter.ts";
import { bulkJson, outcomeJson } from "./outcome-json.ts";

const readNothing = compileBodyReader<object>(Type.Object({}, { additionalProperties: false }));
const readReplay = compileBodyReader<{ readonly asAccepted?: boolean }>(
  Type.Object({ asAccepted: Type.Optional(Type.Boolean()) }, { additionalProperties: false }),
);

/** `/api/v1/deliveries`: what came in, what became of it, and what an operator does about it. */
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
      "deliveries/*/cancel": { POST: (call) => this.#cancel(call) },
      "deliveries/replay": { POST: (call) => this.#bulk("replay", call) },
      "deliveries/cancel": { POST: (call) => this.#bulk("cancel", call) },
      "deliveries/purge": { POST: (call) => this.#bulk("purge", call) },
    };
  }

  get #deliveries(): DeliveryOperations {
    return this.#sources.operations().deliveries;
  }

  async #list({ search }: ApiCall): Promise<Answer> {
    const query = readApiQuery(search, [...FILTER_NAMES, "limit", "cursor"]);
    const filter = readFilter(Object.fromEntries(query), this.#sources.clock.now());
    return answerJson(200, await this.#deliveries.list({ ...readPage(query), ...filter }));
  }

  async #get(call: ApiCall): Promise<ApiReply> {
    const delivery = await this.#deliveries.get(readId(call));
    return delivery && answerJson(200, delivery);
  }

  async #body(call: ApiCall): Promise<ApiReply> {
    const id = readId(call);
    const bytes = await this.#deliveries.body(id);
    return bytes && { bytes, fileName: `${id}.bin` };
  }

  async #replay(call: ApiCall): Promise<ApiReply> {
    const id = readId(call);
    const { asAccepted = false } = await readReplay(call.req);
    return answerOutcome(id, await this.#deliveries.replay(id, { asAccepted }));
  }

  async #cancel(call: ApiCall): Promise<ApiReply> {
    const id = readId(call);
    await readNothing(call.req);
    return answerOutcome(id, await this.#deliveries.cancel(id));
  }

  async #purge(call: ApiCall): Promise<ApiReply> {
    const id = readId(call);
    return answerOutcome(id, await this.#deliveries.purge(id));
  }

  async #bulk(operation: Operation, { req, search }: ApiCall): Promise<Answer> {
    readApiQuery(search, []);
    const now = this.#sources.clock.now();
    const { target, options } = await readBulkRequest(req, { isReplay: operation === "replay", now });
    return answerJson(200, bulkJson(await this.#deliveries.bulk(operation, target, options), options));
  }
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
    case "removed":
    case "emptied":
    case "planned":
      return answerJson(200, { ok: true, id, ...outcomeJson(outcome) });
  }
}
