import { MemoryDeliveryStore } from "../../fixtures/memory-store/delivery-store.ts";
import { MemoryDisk } from "../../fixtures/memory-store/disk.ts";
import { describeDeliveryStore } from "./describe-delivery-store.ts";

describeDeliveryStore("memory", {
  async create() {
    const disk = new MemoryDisk();
    let current = new MemoryDeliveryStore(disk);
    return {
      store: current,
      async reopen() {
        await current.close();
        current = new MemoryDeliveryStore(disk);
        return current;
      },
      dispose: () => current.close(),
    };
  },
});
