import { describe, expect, it } from "vitest";
import { createLifecycle } from "../../../../../src/hosts/shared/lifecycle.ts";
import { limitShutdownTaps } from "../../../../../src/hosts/embedded/plugins/shutdown.ts";
import { recordingLogger } from "../server/recording-logger.ts";

const clock = { now: () => Date.now() };

describe("a shutdown of several plugins", () => {
  it("gives each its turn and the deadline, in order and however it was tapped, whatever the others do", async () => {
    const { onShutdown } = createLifecycle();
    const logger = recordingLogger();
    limitShutdownTaps(onShutdown, { clock, logger });
    const order: string[] = [];
    onShutdown.tap("sync", ({ deadlineMs }) => void order.push(`sync ${deadlineMs}`));
    onShutdown.tap("throws", () => {
      throw new Error("sync failure");
    });
    onShutdown.tapPromise("rejects", () => Promise.reject(new Error("promise failure")));
    onShutdown.tapAsync("fails", (_deadline, done) => {
      done(new Error("callback failure"));
    });
    onShutdown.tapAsync("callback", (_deadline, done) => {
      process.nextTick(() => {
        order.push("callback");
        done();
      });
    });
    onShutdown.tapPromise("hangs", () => new Promise(() => {}));
    onShutdown.tapPromise("promise", async () => {
      await Promise.resolve();
      order.push("promise");
    });
    await onShutdown.promise({ deadlineMs: 5 });
    expect(order).toEqual(["sync 5", "callback", "promise"]);
    expect(logger.lines.map(({ level, fields }) => `${level} ${(fields["err"] as Error).message}`)).toEqual([
      'error Hook "onShutdown", tap "throws": sync failure',
      'error Hook "onShutdown", tap "rejects": promise failure',
      'error Hook "onShutdown", tap "fails": callback failure',
      'error Hook "onShutdown", tap "hangs": has not come to an end by the deadline of the shutdown.',
    ]);
  });
});
