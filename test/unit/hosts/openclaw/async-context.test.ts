import { AsyncLocalStorage } from "node:async_hooks";
import { expect, it, vi } from "vitest";
import { inLoadContext } from "../../../../src/hosts/openclaw/async-context.ts";

it("a copy of the module that a reload loads runs in the context of the first one", async () => {
  const lease = new AsyncLocalStorage<string>();
  expect(lease.run("a later start", () => inLoadContext(() => lease.getStore()))).toBeUndefined();

  const copy = await lease.run("a service that has ended", () => {
    vi.resetModules();
    return import("../../../../src/hosts/openclaw/async-context.ts");
  });

  expect(copy.inLoadContext).toBe(inLoadContext);
  expect(copy.inLoadContext(() => lease.getStore())).toBeUndefined();
});
