import type { DeliveriesApi } from "../../api/deliveries.ts";
import { ApiQueryError } from "../../api/request.ts";
import { wrapUntrusted } from "../../core/boundary/wrap-untrusted.ts";
import { reasonLine } from "../../core/reason-of.ts";

export type OwnerCall = "list" | "get" | "replay";

type OwnerOutcome =
  | { readonly ok: true; readonly value: object }
  | { readonly ok: false; readonly code: "INVALID_REQUEST" | "UNAVAILABLE"; readonly message: string };

type Params = Readonly<Record<string, unknown>>;

/** The call of each action of the tool. */
const CALLS: Readonly<Record<string, OwnerCall>> = { list: "list", show: "get", replay: "replay" };
/** The period of a list for which the agent names none. */
const DEFAULT_SINCE = "24h";

/** The operator API's deliveries, as the host's clients and the owner's agent ask for them. */
export class OwnerDeliveries {
  readonly #api: DeliveriesApi;

  constructor(api: DeliveriesApi) {
    this.#api = api;
  }

  /** Parameters are those of the API: the filter of a list, the `id` of one delivery. Never rejects. */
  async call(name: OwnerCall, params: Params): Promise<OwnerOutcome> {
    try {
      return { ok: true, value: await this.#ask(name, params) };
    } catch (error) {
      const code = error instanceof ApiQueryError ? "INVALID_REQUEST" : "UNAVAILABLE";
      return { ok: false, code, message: reasonLine(error) };
    }
  }

  /** The answer for an agent: senders wrote names and texts of deliveries, so that it is inside the boundary. */
  async answerTool({ action, ...params }: Params): Promise<string> {
    const name = typeof action === "string" && Object.hasOwn(CALLS, action) ? CALLS[action] : undefined;
    if (name === undefined) return "Nothing was done: action must be list, show or replay.";
    const outcome = await this.call(name, name === "list" ? { since: DEFAULT_SINCE, ...params } : params);
    if (!outcome.ok) return `Nothing was done: ${outcome.message}`;
    const text = JSON.stringify(outcome.value, undefined, 1);
    // As HTML, a comment that begins in one delivery and ends in another would hide those between them.
    return wrapUntrusted(text, { source: "Webhook deliveries" }, { kind: "plain" });
  }

  #ask(name: OwnerCall, params: Params): Promise<object> {
    if (name === "list") return this.#api.list(queryOf(params));
    const { id } = params;
    if (typeof id !== "string" || id === "") throw new ApiQueryError("id must be the id of a delivery: dlv_...");
    return this.#api[name](id);
  }
}

/** The query of the API's list, which refuses unknown names and wrong values. */
function queryOf(params: Params): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || value === null) continue;
    const isText = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
    if (!isText) throw new ApiQueryError(`${name} must be a string, a number or a boolean.`);
    query.set(name, String(value));
  }
  return query.toString();
}
