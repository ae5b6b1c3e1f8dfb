/** A configuration that no plugin can keep waiting forever. */
import type { AsyncSeriesHook } from "tapable";
import type { ConfigSnapshot } from "../../../core/host.ts";
import { callTap, endWithin } from "./tap-patience.ts";

/** As long as a plugin may take to load. */
const CONFIG_TIMEOUT_MS = 30_000;

/**
 * Makes each tap that is made from now on refuse the configuration when it has not come to an end in time: a start
 * would say nothing, and every later reload would wait behind it. What was tapped before, such as the ingress, which
 * may have a large database to bring up to date, has all the time that it takes.
 */
export function limitConfigTaps(hook: AsyncSeriesHook<[ConfigSnapshot]>, timeoutMs = CONFIG_TIMEOUT_MS): void {
  let isEarlier = true;
  hook.intercept({
    name: "patience",
    register: (tap) => {
      if (isEarlier) return tap;
      const problem = `Hook "onConfigLoad", tap "${tap.name}": has not come to an end after ${timeoutMs} ms.`;
      const end = async (snapshot: ConfigSnapshot): Promise<void> => {
        await endWithin(callTap(tap.fn as (given: ConfigSnapshot) => unknown, tap.type, snapshot), timeoutMs, problem);
      };
      return { ...tap, type: "promise", fn: end };
    },
  });
  isEarlier = false;
}
