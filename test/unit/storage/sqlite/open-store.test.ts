import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openSqliteStore } from "../../../../src/storage/sqlite/delivery-store.ts";
import { accept } from "../../../conformance/store/store-actions.ts";
import { temporaryFolder } from "./engine/temporary-folder.ts";

const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

describe("openSqliteStore", () => {
  it("keeps deliveries in a file of its own in the state directory and frees it when it closes", async () => {
    const stateDir = temporaryFolder();
    const host = { paths: { stateDir, configDir: stateDir }, logger };
    const store = await openSqliteStore(host);
    const { deliveryId } = await accept(store);
    expect(readdirSync(stateDir)).toContain("reveille-deliveries.sqlite");
    await expect(openSqliteStore(host)).rejects.toMatchObject({ code: "IN_USE" });
    await store.close();
    const again = await openSqliteStore(host);
    expect(await again.get(deliveryId)).toBeDefined();
    await again.close();
  });
});
