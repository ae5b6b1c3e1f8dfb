import type { ActiveConfig } from "../../../../src/ingress/active-config.ts";
import type { Answer } from "../../../../src/http/answer.ts";
import { answerRequest } from "../../../../src/ingress/pipeline.ts";
import { RequestFacts } from "../../../../src/ingress/request-log.ts";
import type { NewDelivery } from "../../../../src/storage/new-delivery.ts";
import { GOOD_TOKEN } from "../../config/hooks-context.ts";
import { withRequest } from "../../http/wire.ts";
import type { StageBench } from "./stage-bench.ts";

export const WITH_TOKEN: readonly string[] = [`Authorization: Bearer ${GOOD_TOKEN}`];

/** The answer of the whole pipeline to a POST that comes over a socket; nothing but the answer is sent back. */
export function callPipeline(
  { ingress }: Pick<StageBench, "ingress">,
  active: ActiveConfig,
  { path, body, headers = WITH_TOKEN }: { path: string; body: string; headers?: readonly string[] },
): Promise<Answer> {
  const lines = [`POST /hooks/${path} HTTP/1.1`, "Host: x", ...headers, `Content-Length: ${Buffer.byteLength(body)}`];
  return withRequest(
    (req) => answerRequest(ingress, active, req, new RequestFacts()),
    (socket) => socket.write([...lines, "", body].join("\r\n")),
  );
}

/** Deliveries that are handed to the store from now on. */
export function acceptedBy({ ingress: { store } }: StageBench): NewDelivery[] {
  const deliveries: NewDelivery[] = [];
  const accept = store.accept.bind(store);
  store.accept = (delivery) => {
    deliveries.push(delivery);
    return accept(delivery);
  };
  return deliveries;
}
