/** The lifecycle hooks of the embedded gateway. */
import { AsyncSeriesHook, SyncHook } from "tapable";
import { guardHook } from "../guard-hook.ts";
import type { ConfigSnapshot, HostLifecycle, HttpRouter, ShutdownDeadline } from "../host.ts";

/** Makes the hooks; every error out of them names the hook and the plugin's tap. */
export function createLifecycle(): HostLifecycle {
  return Object.freeze({
    onConfigLoad: guardHook("onConfigLoad", new AsyncSeriesHook<[ConfigSnapshot]>(["snapshot"])),
    onHttpRoute: guardHook("onHttpRoute", new SyncHook<[HttpRouter]>(["router"])),
    onShutdown: guardHook("onShutdown", new AsyncSeriesHook<[ShutdownDeadline]>(["deadline"])),
  });
}
