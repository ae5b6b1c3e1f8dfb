import type { AsyncSeriesHook } from "tapable";
import type { ConfigSnapshot } from "../../core/host.ts";
import { failureReason } from "../../core/failure-reason.ts";

type Tap = (snapshot: ConfigSnapshot, ...rest: unknown[]) => unknown;

/** Makes what the commits of a tap throw name the hook and the tap, as the guard does for the tap itself. */
export function nameCommits(hook: AsyncSeriesHook<[ConfigSnapshot]>): void {
  hook.intercept({
    name: "commits",
    register: (tap) => {
      const load = tap.fn as Tap;
      const fn: Tap = (snapshot, ...rest) => load(withNamedCommits(snapshot, tap.name), ...rest);
      return { ...tap, fn };
    },
  });
  // tapable counts interceptors as taps.
  hook.isUsed = () => hook.taps.length > 0;
}

function withNamedCommits(snapshot: ConfigSnapshot, name: string): ConfigSnapshot {
  return {
    ...snapshot,
    onCommit: (commit) => {
      snapshot.onCommit(() => {
        try {
          commit();
        } catch (error) {
          const who = `Hook "onConfigLoad", commit of the tap "${name}"`;
          throw new Error(`${who}: ${failureReason(error)}`, { cause: error });
        }
      });
    },
  };
}
