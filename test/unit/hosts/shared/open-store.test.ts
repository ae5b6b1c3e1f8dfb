import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { STATE_MODULE_URL } from "../../../../src/hosts/embedded/state/sqlite-module.ts";
import { openHostStore } from "../../../../src/hosts/shared/open-store.ts";
import { accept } from "../../../conformance/store/store-actions.ts";
import { temporaryFolder } from "../../storage/sqlite/engine/temporary-folder.ts";

const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

describe("openHostStore", () => {
  it("creates the state directory and keeps deliveries in the host's database", async () => {
    const stateDir = join(temporaryFolder(), "state");
    const options = { stateDir, stateModule: STATE_MODULE_URL, logger };
    const first = await openHostStore(options);
    const { deliveryId } = await accept(await first.openDeliveryStore());
    expect(readdirSync(stateDir)).toContain("reveille.sqlite");
    await expect(openHostStore(options)).rejects.toMatchObject({ code: "IN_USE" });
    await first.database.close();
    const again = await openHostStore(options);
    const store = await again.openDeliveryStore();
    expect(await store.get(deliveryId)).toBeDefined();
    await store.close();
    await again.database.close();
  });
});
