import { describe, expect, it } from "vitest";
import { installationOfSuite } from "./installation-of-suite.ts";
import { HOOK_TOKEN } from "./running-installation.ts";

/** With a key that no version has, and a switch that the host's own audit names when its hooks have it. */
const block = { enabled: true, token: HOOK_TOKEN, allowRequestSessionKey: true, allowedSessionKeyPrefixes: ["hook:"] };

describe("what the manifest says to the real OpenClaw", () => {
  const installation = installationOfSuite(block);

  it("names what is dangerous in the block", async () => {
    const { out } = await installation().openclaw("security", "audit", "--json");
    expect(out).toContain("plugins.entries.reveille.config.allowRequestSessionKey");
  });

  it("keeps the gateway running with a key that the block's reader refuses", async () => {
    const from = installation().gateway.log.length;
    installation().configure({ ...block, retiredKey: 3 });
    await installation().gateway.waitForLog("retiredKey", from);
    expect(await installation().post("/reveille/wake", { text: "still here" })).toMatchObject({ status: 200 });
    const { code } = await installation().openclaw("config", "validate");
    expect(code).toBe(0);
  });
});
