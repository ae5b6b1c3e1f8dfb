/** A shutdown that no plugin can keep from the others. */
import type { AsyncSeriesHook } from "tapable";
import type { Clock, Logger, ShutdownDeadline } from "../../../core/host.ts";
import { callTap, endWithin } from "./tap-patience.ts";

/** Time after the deadline of a shutdown in which a plugin may still end by itself. */
export const PLUGIN_GRACE_MS = 2_000;

/**
 * Makes every tap of the hook have its turn: what one throws is logged, and one that has not ended
 * soon after the deadline is logged and no longer waited for. The hook never rejects, and ends.
 */
export function limitShutdownTaps(
  hook: AsyncSeriesHook<[ShutdownDeadline]>,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): void {
  hook.intercept({
    name: "patience",
    register: (tap) => {
      const end = async (deadline: ShutdownDeadline): Promise<void> => {
        const leftMs = Math.max(0, deadline.deadlineMs - clock.now()) + PLUGIN_GRACE_MS;
        const problem = `Hook "onShutdown", tap "${tap.name}": has not come to an end by the deadline of the shutdown.`;
        try {
          await endWithin(callTap(tap.fn as (given: ShutdownDeadline) => unknown, tap.type, deadline), leftMs, problem);
        } catch (error) {
          logger.error({ err: error }, "a plugin did not shut down in order");
        }
      };
      return { ...tap, type: "promise", fn: end };
    },
  });
}

/** A plugin that fails or hangs must not keep the database from being closed. */
export async function untilPluginsEnd(done: Promise<unknown>, leftMs: number, logger: Logger): Promise<void> {
  try {
    await endWithin(done, leftMs + PLUGIN_GRACE_MS, "A plugin has not come to an end by the deadline of the shutdown.");
  } catch (error) {
    logger.error({ err: error }, "a plugin did not shut down in order");
  }
}
