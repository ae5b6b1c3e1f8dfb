/**
 * The ingress's own hooks, in firing order, for plugin authors.
 *
 * They are reached with `WebhookIngress.hooks(host)` and tapped in a plugin's `apply`. A tap that has
 * nothing to answer returns `undefined`. An untapped hook costs a request nothing.
 */
import type { IncomingHttpHeaders } from "node:http";
import { AsyncSeriesBailHook, AsyncSeriesHook, AsyncSeriesWaterfallHook, SyncHook } from "tapable";
import type { Action, Credential, PayloadContext, Query, RequestHead } from "../core/delivery.ts";
import type { RunSpec } from "../core/run.ts";
import type { AcceptedEvent, DispatchedEvent, SettledEvent } from "../core/events.ts";
import { guardHook, unlessNothing } from "../core/guard-hook.ts";
import type { CompiledMapping } from "../mapping/compile-mapping.ts";
import type { PresetRegistry } from "../presets/registry.ts";

export interface IngressHooks {
  /** At config load: add presets. They are compiled with the configuration. */
  readonly presets: SyncHook<[PresetRegistry]>;
  /** The hook token is missing or wrong: a tap may know the sender. Without a result: 401. */
  readonly authenticate: AsyncSeriesBailHook<[UnauthenticatedRequest], Credential | undefined>;
  /** A request has been read; its sender is not verified and its body is not parsed. */
  readonly received: AsyncSeriesHook<[RequestHead]>;
  /** No configured mapping matches: a tap may return one it compiled at load. Without a result: 404. */
  readonly resolve: AsyncSeriesBailHook<[PayloadContext], CompiledMapping | undefined>;
  /** The actions that a request was turned into; a tap returns them changed. */
  readonly actions: AsyncSeriesWaterfallHook<[readonly Action[], PayloadContext]>;
  /** The built-in policy has passed: a tap can only deny. */
  readonly policy: AsyncSeriesBailHook<[RunSpec, PayloadContext], Denial | undefined>;
  /** A delivery is on disk. Fired before the answer is written; observers cannot change it. */
  readonly accepted: AsyncSeriesHook<[AcceptedEvent]>;
  /** An attempt at a run begins. */
  readonly dispatched: AsyncSeriesHook<[DispatchedEvent]>;
  /** A run is settled. */
  readonly settled: AsyncSeriesHook<[SettledEvent]>;
}

/** An unauthenticated request: the only place where a tap sees the headers that carry credentials. */
export interface UnauthenticatedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Query;
  readonly headers: IncomingHttpHeaders;
  readonly clientAddress: string;
}

/** Why a policy refuses; the message is written for the caller. */
export interface Denial {
  readonly deny: string;
}

/** Makes the hooks of one ingress. */
export function createIngressHooks(): IngressHooks {
  return Object.freeze({
    presets: guardHook("presets", new SyncHook<[PresetRegistry]>(["registry"])),
    authenticate: guardHook(
      "authenticate",
      new AsyncSeriesBailHook<[UnauthenticatedRequest], Credential | undefined>(["request"]),
      unlessNothing,
    ),
    received: guardHook("received", new AsyncSeriesHook<[RequestHead]>(["request"])),
    resolve: guardHook(
      "resolve",
      new AsyncSeriesBailHook<[PayloadContext], CompiledMapping | undefined>(["context"]),
      unlessNothing,
    ),
    actions: guardHook(
      "actions",
      new AsyncSeriesWaterfallHook<[readonly Action[], PayloadContext]>(["actions", "context"]),
    ),
    policy: guardHook(
      "policy",
      new AsyncSeriesBailHook<[RunSpec, PayloadContext], Denial | undefined>(["run", "context"]),
      unlessNothing,
    ),
    accepted: guardHook("accepted", new AsyncSeriesHook<[AcceptedEvent]>(["event"])),
    dispatched: guardHook("dispatched", new AsyncSeriesHook<[DispatchedEvent]>(["event"])),
    settled: guardHook("settled", new AsyncSeriesHook<[SettledEvent]>(["event"])),
  });
}
