import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { GatewayFixture } from "./fixture.ts";

/** A gateway's folder with the diary and the gate of its plugins; the gate is open once the folder is removed. */
export class RulesFixture extends GatewayFixture {
  readonly diary = join(this.folder, "diary");
  /** What waits for this file goes on once it is written. */
  readonly gate = join(this.folder, "gate");

  openGate(): void {
    writeFileSync(this.gate, "");
  }

  override async remove(): Promise<void> {
    this.openGate();
    await super.remove();
  }
}
