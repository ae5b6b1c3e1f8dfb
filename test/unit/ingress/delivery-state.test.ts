import { describe, expect, it } from "vitest";
import { status } from "../../../src/ingress/delivery-state.ts";
import { StoreError } from "../../../src/storage/delivery-store.ts";
import { CREDENTIAL, StageBench } from "./stages/stage-bench.ts";

describe("the state of a delivery", () => {
  it("is disclosed to no caller without a credential", async () => {
    await using bench = await StageBench.open();
    expect(await status(bench.ingress, "dlv_1", undefined)).toMatchObject({ refused: "UNAUTHORIZED" });
  });

  it("is refused as unavailable while the store cannot be read, and what is a defect is thrown", async () => {
    await using bench = await StageBench.open();
    const { store } = bench.ingress;
    store.stateFor = () => Promise.reject(new StoreError("UNAVAILABLE", "the disk is gone"));
    expect(await status(bench.ingress, "dlv_1", CREDENTIAL)).toMatchObject({ refused: "STORE_UNAVAILABLE" });
    store.stateFor = () => Promise.reject(new TypeError("a defect"));
    await expect(status(bench.ingress, "dlv_1", CREDENTIAL)).rejects.toThrow("a defect");
  });
});
