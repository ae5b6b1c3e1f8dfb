import { contextFields } from "../context.ts";
import { TransformError } from "../call.ts";
import type { TransformCall } from "../call.ts";

/** A call on its way through the pool: it waits, is sent to a process, and is settled once. */
export class SandboxCall {
  /** Place of the module in the pool's list. */
  readonly module: number;
  /** The transform's arguments as JSON, and the bytes of the body. */
  readonly context: string;
  /** True: the arguments lack the payload, which the process reads from the body. */
  readonly readsBody: boolean;
  readonly rawBody: Uint8Array;
  /** Time of the request, on the pool's clock. */
  readonly askedAt: number;
  readonly promise: Promise<unknown>;
  /** Processes that ended with it at their head, before it had begun. */
  restores = 0;
  readonly #settle: PromiseWithResolvers<unknown>;

  /** Throws a TypeError for a payload that is no JSON. */
  constructor(module: number, call: TransformCall, askedAt: number) {
    this.module = module;
    const fields = contextFields(call);
    this.readsBody = call.bodyPayload !== undefined && fields.payload === call.bodyPayload;
    this.context = JSON.stringify(this.readsBody ? { ...fields, payload: undefined } : fields);
    this.rawBody = call.rawBody;
    this.askedAt = askedAt;
    this.#settle = Promise.withResolvers();
    this.promise = this.#settle.promise;
  }

  /** The approximate bytes of sending it. */
  get bytes(): number {
    return this.context.length + this.rawBody.byteLength;
  }

  resolve(value: unknown): void {
    this.#settle.resolve(value);
  }

  fail(kind: TransformError["kind"], reason: string): void {
    this.#settle.reject(new TransformError(kind, reason));
  }
}
