import { describe, expect, it, vi } from "vitest";
import type { ConfigSnapshot, Logger } from "../../../../src/core/host.ts";
import { createLifecycle } from "../../../../src/hosts/shared/lifecycle.ts";
import { commitConfig, prepareConfig } from "../../../../src/hosts/shared/load-config.ts";

const error = vi.fn<Logger["error"]>();
const logger: Logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error };

function snapshotFor(reason: ConfigSnapshot["reason"]): Omit<ConfigSnapshot, "onCommit"> {
  return { config: {}, reason } as unknown as Omit<ConfigSnapshot, "onCommit">;
}

/** Plugins of which the second fails in its commit. */
function lifecycleOf(order: string[]) {
  const lifecycle = createLifecycle();
  lifecycle.onConfigLoad.tap("first", (snapshot) => snapshot.onCommit(() => order.push("first")));
  lifecycle.onConfigLoad.tap("second", (snapshot) =>
    snapshot.onCommit(() => {
      throw new Error("broken");
    }),
  );
  lifecycle.onConfigLoad.tap("third", (snapshot) => snapshot.onCommit(() => order.push("third")));
  return lifecycle;
}

describe("commitConfig", () => {
  it("refuses a start of which a part fails, before the host's own part", async () => {
    const order: string[] = [];
    const prepared = await prepareConfig(lifecycleOf(order), snapshotFor("start"));
    expect(order).toEqual([]);
    const activate = vi.fn<() => void>();
    expect(() => commitConfig(prepared, { logger, activate })).toThrow('commit of the tap "second": broken');
    expect(activate).not.toHaveBeenCalled();
  });

  it("applies the other parts of a reload, then the host's own, and logs and returns each failure", async () => {
    error.mockClear();
    const order: string[] = [];
    const prepared = await prepareConfig(lifecycleOf(order), snapshotFor("reload"));
    const failures = commitConfig(prepared, {
      logger,
      activate: () => {
        order.push("host");
        throw new Error("no route");
      },
    });
    expect(order).toEqual(["first", "third", "host"]);
    expect(failures.map(String)).toEqual([expect.stringContaining("broken"), "Error: no route"]);
    expect(error.mock.calls.map(([fields]) => fields)).toEqual(failures.map((err) => ({ err })));
  });
});

it("prepareConfig takes no commit after the hook has ended", async () => {
  const lifecycle = createLifecycle();
  let late: ConfigSnapshot | undefined;
  lifecycle.onConfigLoad.tap("late", (snapshot) => {
    late = snapshot;
  });
  await prepareConfig(lifecycle, snapshotFor("start"));
  expect(() => late?.onCommit(() => undefined)).toThrow("onCommit() was called after onConfigLoad had ended.");
});
