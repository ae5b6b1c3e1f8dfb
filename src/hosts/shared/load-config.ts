/** Prepares a configuration with every plugin, and commits it for all of them or none. */
import type { ConfigSnapshot, HostLifecycle, Logger } from "../../core/host.ts";

/** A configuration that every plugin has accepted and none uses yet. */
export interface PreparedConfig {
  readonly reason: ConfigSnapshot["reason"];
  readonly commits: readonly (() => void)[];
}

/**
 * Fires `onConfigLoad`. Rejects with the first refusal, and then nothing of the configuration is in use
 * anywhere; a commit that a plugin registers once the hook has ended throws.
 */
export async function prepareConfig(
  lifecycle: HostLifecycle,
  snapshot: Omit<ConfigSnapshot, "onCommit">,
): Promise<PreparedConfig> {
  const commits: (() => void)[] = [];
  let isOpen = true;
  try {
    await lifecycle.onConfigLoad.promise({
      ...snapshot,
      onCommit(commit) {
        if (!isOpen) throw new Error("onCommit() was called after onConfigLoad had ended.");
        commits.push(commit);
      },
    });
  } finally {
    isOpen = false;
  }
  return { reason: snapshot.reason, commits };
}

/**
 * Applies the part of every plugin, in order, and then the host's own. By contract none of them throws. At a start
 * nothing is served yet, so that the first failure refuses the configuration as a whole. At a reload a failure is
 * logged and returned, and the other parts become active all the same.
 */
export function commitConfig(
  { reason, commits }: PreparedConfig,
  { logger, activate }: { readonly logger: Logger; readonly activate?: () => void },
): readonly unknown[] {
  const failures = commits.flatMap(failuresOf);
  if (reason === "start" && failures.length > 0) throw failures[0];
  if (activate !== undefined) failures.push(...failuresOf(activate));
  for (const err of failures) {
    logger.error({ err }, "a part of the new configuration failed after it was accepted");
  }
  return failures;
}

function failuresOf(apply: () => void): readonly unknown[] {
  try {
    apply();
    return [];
  } catch (error) {
    return [error];
  }
}
