import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HOOK_TOKEN, RunningInstallation } from "./running-installation.ts";

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
    await installation.eventually(() => expect(installation.model.callsWith("The build is red.")).not.toEqual([]));
    await installation.eventually(async () => {
      expect(await installation.read("/deliveries")).toMatchObject({ deliveries: [{ state: "done" }] });
    });
    expect(installation.model.calls.length).toBeLessThanOrEqual(2);
  });
});
