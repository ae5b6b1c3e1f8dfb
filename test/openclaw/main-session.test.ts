import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { HOOK_TOKEN, RunningInstallation } from "./running-installation.ts";

const patience = { timeout: 120_000, interval: 100 };
const block = { enabled: true, token: HOOK_TOKEN };
const heartbeat = { every: "0m", isolatedSession: true };

/** Settings of the host under which its heartbeats do not run where its main session is by default. */
describe.each([
  { name: "heartbeats in a session of their own", agent: "apart", session: {} },
  { name: "such heartbeats and one session for all", agent: "whole", session: { scope: "global" } },
])("wakes in a host with $name", ({ agent, session }) => {
  let installation: RunningInstallation;

  beforeAll(async () => {
    installation = await RunningInstallation.prepare(block);
    const workspace = `${installation.home}/workspace`;
    installation.withHostSections({
      session,
      // An agent of its own: the host fails turns of an agent whose conversations were in other sessions before.
      agents: { defaults: { model: "test/m", workspace, heartbeat }, entries: { [agent]: { default: true } } },
    });
    installation.configure(block);
    await installation.restart();
  });

  afterAll(() => installation?.stop());

  it("reach the model, with one turn", async () => {
    expect(await installation.post("/reveille/wake", { text: "The build is red." })).toMatchObject({ status: 200 });
    await vi.waitFor(() => expect(installation.model.callsWith("The build is red.")).not.toEqual([]), patience);
    await vi.waitFor(async () => {
      const { out } = await installation.openclaw("reveille", "deliveries", "list", "--json");
      expect(out).toContain('"done"');
    }, patience);
    expect(installation.model.calls.length).toBeLessThanOrEqual(2);
  });
});
