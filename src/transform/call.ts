import { types } from "node:util";
import type { PayloadContext } from "../core/delivery.ts";

/** One call of a transform, as the stage makes it. */
export interface TransformCall {
  /** Of a mapping with `forEach`, that of one item. */
  readonly context: PayloadContext;
  readonly method: string;
  /** The exact bytes received. */
  readonly rawBody: Uint8Array;
  /** What `JSON.parse` makes of the body, where that is known to be a payload as it is. */
  readonly bodyPayload?: unknown;
  /** The path that all hooks lie below: `/hooks`; absent: none. */
  readonly basePath?: string;
  /** The sender's id for the delivery. */
  readonly deliveryId: string | undefined;
}

/**
 * Carries out a call wherever the transform runs. Resolves to what the module returned, as data that
 * no one has looked at; rejects with a {@link TransformError}.
 */
export type CallTransform = (call: TransformCall) => Promise<unknown>;

// A later replacement by a module does not count.
const { isPromise, isGeneratorObject } = types;

/**
 * Names what a function gave back instead of a result, as `map(async ...)` and `function*` do: as data it would be an
 * empty object, which means the mapping's own action. `undefined` for everything else.
 */
export function unfinishedName(value: unknown): "a promise" | "a generator" | undefined {
  if (isPromise(value)) return "a promise";
  return isGeneratorObject(value) ? "a generator" : undefined;
}

/** A transform that came to nothing; the message is a part of a sentence for the gateway's owner. */
export class TransformError extends Error {
  override readonly name = "TransformError";
  /** `busy`: it was never begun, and the same call may succeed later. */
  readonly kind: "failed" | "busy";

  constructor(kind: TransformError["kind"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
