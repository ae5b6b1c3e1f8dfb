import { expect, it } from "vitest";
import { withHostDefaults } from "../../../../src/hosts/openclaw/plugin-block.ts";

it("has a path of its own, unless one is written", () => {
  expect(withHostDefaults({ enabled: true })).toEqual({ path: "/reveille", enabled: true });
  expect(withHostDefaults({ path: "/hooks" })).toEqual({ path: "/hooks" });
  expect(withHostDefaults(undefined)).toBeUndefined();
});

it("lets an empty list of agents deny every call, as OpenClaw does, unless the owner says otherwise", () => {
  expect(withHostDefaults({ allowedAgentIds: [] })).toMatchObject({ requireAllowedAgent: true });
  expect(withHostDefaults({ allowedAgentIds: [], requireAllowedAgent: false })).toMatchObject({
    requireAllowedAgent: false,
  });
});
