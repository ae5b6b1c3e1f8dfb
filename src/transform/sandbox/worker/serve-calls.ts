import { types } from "node:util";
import { transformContext } from "../../context.ts";
import type { ContextFields, TransformFunction } from "../../context.ts";
import { decode, memoryOf } from "../frames.ts";
import { encodeResult } from "./encode-result.ts";
import type { GatewayChannel } from "./gateway-channel.ts";
import type { SandboxRequest } from "../messages.ts";
import type { CurrentWork } from "./current-work.ts";

export interface ServeCallsOptions {
  readonly channel: Pick<GatewayChannel, "read" | "write">;
  /** By the place in the list of `load`; `undefined` where it failed. */
  readonly transforms: readonly (TransformFunction | undefined)[];
  readonly maxResultBytes: number;
  readonly current: CurrentWork;
  /** The thrown value, as a part of a sentence; never throws. */
  readonly describe: (error: unknown) => string;
  /** A call begins. */
  readonly onCall: () => void;
  /** The gateway has closed the channel, or it broke; called once, and nothing is served after. */
  readonly onEnd: (error?: unknown) => void;
}

interface Call {
  readonly id: number;
  readonly context: ContextFields;
  readonly rawBody: Uint8Array;
  readonly transform: TransformFunction;
}

// Modules share the process's globals and may patch them; what an answer consists of was taken before.
const { apply, get } = Reflect;
const parse = JSON.parse.bind(JSON);
const stringify = JSON.stringify.bind(JSON);
const later = setImmediate;
const Settling = Promise;
const bufferOf = Buffer.from.bind(Buffer) as (memory: ArrayBufferLike) => Buffer;
const { isPromise } = types;
const then: unknown = get(Promise.prototype, "then");

/**
 * Carries out calls one after the other: reads a request, reports that it begins, calls the function, waits for
 * what it returns, writes that as JSON and answers. Returns at once and continues by itself.
 *
 * Between two calls timers and promises of the modules have a turn, and what goes wrong in it is no one's
 * failure. Whatever a module has changed for all of its process (a patched `JSON.stringify`,
 * `Object.prototype.toJSON`) spoils results of that process, never the order or the form of its answers.
 * A module that breaks what Node's own event loop relies on stops the process, and the gateway's clock ends it.
 */
export function serveCalls(options: ServeCallsOptions): void {
  const { channel, current, describe, onCall, onEnd } = options;
  const next = (): void => {
    let call: Call | undefined;
    try {
      call = nextCall(options);
    } catch (error) {
      return onEnd(error);
    }
    return call === undefined ? onEnd() : carryOut(call);
  };
  const carryOut = ({ id, context, rawBody, transform }: Call): void => {
    let isOpen = true;
    const answer = (json: string): void => {
      if (!isOpen) return;
      isOpen = false;
      current.end();
      try {
        channel.write(json);
      } catch (error) {
        return onEnd(error);
      }
      later(next);
    };
    const fail = (reason: string): void => answer(`{"is":"failed","id":${id},"reason":${stringify(reason)}}`);
    const threw = (error: unknown): void => fail(describe(error));
    const returned = (value: unknown): void => {
      const encoded = encodeResult(value, options);
      if (!encoded.ok) fail(encoded.reason);
      else answer(`{"is":"returned","id":${id}${encoded.json === undefined ? "" : `,"value":${encoded.json}`}}`);
    };
    current.begin(threw, () => {
      try {
        const given = transformContext(context, rawBody);
        if (!begin(id)) return;
        settle(transform(given), returned, threw);
      } catch (error) {
        threw(error);
      }
    });
  };
  /** Has to reach the gateway before the function runs, which may be for ever. */
  const begin = (id: number): boolean => {
    onCall();
    try {
      channel.write(`{"is":"begun","id":${id}}`);
      return true;
    } catch (error) {
      onEnd(error);
      return false;
    }
  };
  later(next);
}

function nextCall({ channel, transforms }: ServeCallsOptions): Call | undefined {
  const frame = channel.read();
  if (frame === undefined) return undefined;
  const request = parse(frame.json) as SandboxRequest;
  const transform = request.do === "call" ? transforms[request.module] : undefined;
  if (request.do !== "call" || transform === undefined) throw new Error("the gateway asks for what was not loaded");
  const { id, readsBody } = request;
  const context = readsBody ? { ...request.context, payload: parse(decode(frame.body)) as unknown } : request.context;
  return { id, context, rawBody: bufferOf(memoryOf(frame.body)), transform };
}

/** Waits as `await` does, and calls one of the two once. */
function settle(value: unknown, returned: (value: unknown) => void, threw: (error: unknown) => void): void {
  if (isPromise(value)) void apply(then as Promise<unknown>["then"], value, [returned, threw]);
  else if (isThenable(value)) settle(new Settling((resolve) => resolve(value)), returned, threw);
  else returned(value);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  return typeof get(value, "then") === "function";
}
