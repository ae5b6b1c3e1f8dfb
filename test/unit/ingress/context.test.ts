import { describe, expect, it } from "vitest";
import { createIngressHooks } from "../../../src/ingress/hooks.ts";
import { observe } from "../../../src/ingress/context.ts";
import { recordingLogger } from "../hosts/embedded/server/recording-logger.ts";

const EVENT = { runId: "r1", kind: "wake", attempt: 1 } as const;

describe("observers", () => {
  it("are notified of an event, and waited for", async () => {
    const hooks = createIngressHooks();
    const logger = recordingLogger();
    const seen: string[] = [];
    hooks.dispatched.tapPromise("slow", async ({ runId }) => {
      await new Promise(setImmediate);
      seen.push(runId);
    });
    await observe({ logger }, hooks.dispatched, EVENT);
    expect(seen).toEqual(["r1"]);
    expect(logger.lines).toEqual([]);
  });

  it("that have no tap cost nothing, not even a promise", () => {
    expect(observe({ logger: recordingLogger() }, createIngressHooks().dispatched, EVENT)).toBeUndefined();
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("full");
      },
    ],
    ["rejects", () => Promise.reject(new Error("full"))],
  ])("are never fatal: what one %s is logged", async (_how, fn) => {
    const hooks = createIngressHooks();
    const logger = recordingLogger();
    hooks.settled.tapPromise("metrics", fn);
    const event = { runId: "r1", kind: "wake", state: "done", reason: null } as const;
    await expect(observe({ logger }, hooks.settled, event)).resolves.toBeUndefined();
    expect(logger.lines).toMatchObject([{ level: "error", message: "an observer of the ingress failed" }]);
    expect(logger.lines[0]?.fields["err"]).toMatchObject({ message: 'Hook "settled", tap "metrics": full' });
  });
});
