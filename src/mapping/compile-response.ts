import type { PayloadContext } from "../core/delivery.ts";
import { compileTemplate } from "./template.ts";

/** What an answer may tell of the delivery. */
export interface ResponseFacts {
  readonly deliveryId: string;
  /** Of the first run; `undefined` when there is none. */
  readonly runId: string | undefined;
}

/** The body of a mapping's own answer, made ready. */
export interface CompiledResponse {
  /** Never throws. */
  renderResponse(context: PayloadContext, facts: ResponseFacts): string;
}

/** Compiles the `body` of a `respond`: a template in which `{{deliveryId}}` and `{{runId}}` stand for the delivery. */
export function compileResponse(source: string): CompiledResponse {
  const template = compileTemplate(source, ["deliveryId", "runId"]);
  return {
    renderResponse: (context, { deliveryId, runId = "" }) =>
      template.render({ ...context, facts: { deliveryId, runId } }),
  };
}
