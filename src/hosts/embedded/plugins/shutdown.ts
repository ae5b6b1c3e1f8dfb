/** A shutdown that no plugin can keep from the others. */
import type { AsyncSeriesHook } from "tapable";
import type { Clock, Logger, ShutdownDeadline } from "../../../core/host.ts";

/** Time after the deadline of a shutdown in which a plugin may still end by itself. */
export const PLUGIN_GRACE_MS = 2_000;

type Tap = (deadline: ShutdownDeadline, callback?: (error?: unknown) => void) => unknown;

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
        try {
          await endWithin(callTap(tap.fn as Tap, tap.type, deadline), leftMs, tap.name);
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
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new Error("A plugin has not come to an end by the deadline of the shutdown."));
  }, leftMs + PLUGIN_GRACE_MS);
  try {
    await Promise.race([done, late.promise]);
  } catch (error) {
    logger.error({ err: error }, "a plugin did not shut down in order");
  } finally {
    clearTimeout(timer);
  }
}

function callTap(tap: Tap, type: "sync" | "async" | "promise", deadline: ShutdownDeadline): unknown {
  if (type !== "async") return tap(deadline);
  return new Promise<void>((resolve, reject) => {
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- it is the plugin's own
    tap(deadline, (error) => (error ? reject(error) : resolve()));
  });
}

async function endWithin(done: unknown, leftMs: number, name: string): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const who = `Hook "onShutdown", tap "${name}"`;
    late.reject(new Error(`${who}: has not come to an end by the deadline of the shutdown.`));
  }, leftMs);
  try {
    await Promise.race([done, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
