import { expect, it } from "vitest";
import { nameBlock } from "../../../src/config/name-block.ts";

it("names the keys of the block as its host has it, and leaves what only looks like one", () => {
  const named = (text: string): string => nameBlock(text, "plugins.entries.reveille.config");
  expect(named("hooks.token: use hooks.mappings[0], not hooks[0]")).toBe(
    "plugins.entries.reveille.config.token: use plugins.entries.reveille.config.mappings[0], not plugins.entries.reveille.config[0]",
  );
  for (const text of ["/hooks/wake", "the hooks.", "webhooks.token", "./hooks.js", "a.hooks.b", "my-hooks.ts"]) {
    expect(named(text)).toBe(text);
  }
  expect(nameBlock("hooks.token", "hooks")).toBe("hooks.token");
});
