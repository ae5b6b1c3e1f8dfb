import { AsyncLocalStorage } from "node:async_hooks";
import type { OpenClawRuntime } from "./sdk.ts";

/** A copy of this module that a reload of the plugin loads finds the context of the first one here. */
const FIRST_LOAD = Symbol.for("reveille.firstLoadContext");

type RunInContext = <Result>(run: () => Result) => Result;

/**
 * Runs a function in the async context in which the host has first loaded this package. The context of a
 * service's start may be that of an earlier start, which the host then takes for one that has ended: its
 * watch of the configuration continues in whatever context woke it, and loads the package again there. The entry
 * must use it, since only its import is early enough, and the bundle leaves out an import that is not used.
 */
export const inLoadContext = firstLoadContext();

function firstLoadContext(): RunInContext {
  const first: unknown = Reflect.get(globalThis, FIRST_LOAD);
  if (typeof first === "function") return first as RunInContext;
  const snapshot: RunInContext = AsyncLocalStorage.snapshot();
  Reflect.set(globalThis, FIRST_LOAD, snapshot);
  return snapshot;
}

/** The calls of the runtime that the adapter makes. */
export type ScopedRuntime = Pick<OpenClawRuntime, "config" | "system" | "subagent" | "channel" | "agent">;

/**
 * The runtime with every call made in the async context of the moment at which this was called: the
 * service's start. The host gives a request of ours no rights, and what a request begins inherits that;
 * outside of any request it lets a plugin run agents.
 */
export function scopedRuntime(runtime: OpenClawRuntime): ScopedRuntime {
  const inService = AsyncLocalStorage.snapshot();
  const { system, subagent, channel, agent } = runtime;
  return {
    config: { current: () => runtime.config.current() },
    system: {
      enqueueSystemEvent: (text, options) => inService(() => system.enqueueSystemEvent(text, options)),
      requestHeartbeat: (request) => inService(() => system.requestHeartbeat(request)),
    },
    subagent: {
      run: (request) => inService(() => subagent.run(request)),
      waitForRun: (query) => inService(() => subagent.waitForRun(query)),
      getSessionMessages: (query) => inService(() => subagent.getSessionMessages(query)),
      deleteSession: (query) => inService(() => subagent.deleteSession(query)),
    },
    channel: {
      outbound: {
        async loadAdapter(id) {
          const adapter = await inService(() => channel.outbound.loadAdapter(id));
          if (adapter?.sendText === undefined) return adapter;
          const { textChunkLimit } = adapter;
          return {
            ...(textChunkLimit === undefined ? {} : { textChunkLimit }),
            ...(adapter.chunker ? { chunker: (text, limit) => adapter.chunker?.(text, limit) ?? [text] } : {}),
            sendText: (message) => inService(async () => adapter.sendText?.(message)),
          };
        },
      },
    },
    ...(agent === undefined ? {} : { agent }),
  };
}
