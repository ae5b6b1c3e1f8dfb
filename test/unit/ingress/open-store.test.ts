import pino from "pino";
import { describe, expect, it } from "vitest";
import { openConfiguredStore } from "../../../src/ingress/open-store.ts";
import { MemoryDeliveryStore } from "../../fixtures/memory-store/delivery-store.ts";

describe("a store of several gateways", () => {
  it("is refused where the sessions are in the one process of the host, before anything is opened", async () => {
    let opened = 0;
    const openLocal = async () => {
      opened++;
      return new MemoryDeliveryStore();
    };
    const config = { url: "postgresql://nobody@127.0.0.1:1/none", several: true };
    const logger = pino({ level: "silent" });
    await expect(openConfiguredStore(config, { openLocal, logger, canShare: false })).rejects.toThrow(
      "hooks.store.several: the sessions of this host are in its one process; leave it out.",
    );
    expect(opened).toBe(0);
    await expect(openConfiguredStore(config, { openLocal, logger, canShare: true })).rejects.toThrow(
      "PostgreSQL cannot be reached",
    );
  });
});
