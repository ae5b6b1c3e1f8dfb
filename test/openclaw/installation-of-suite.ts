import { afterAll, beforeAll } from "vitest";
import { RunningInstallation } from "./running-installation.ts";

/** The installed package in the real gateway for the tests of a `describe`, begun with this block; it is there in them only. */
export function installationOfSuite(block: object): () => RunningInstallation {
  let host: RunningInstallation | undefined;
  beforeAll(async () => {
    host = await RunningInstallation.prepare(block);
    await host.restart();
  });
  afterAll(async () => {
    await host?.stop();
  });
  return () => {
    if (host === undefined) throw new Error("The installation is there in tests only.");
    return host;
  };
}
