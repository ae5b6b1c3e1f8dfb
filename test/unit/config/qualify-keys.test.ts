import { expect, it } from "vitest";
import { qualifyKeys } from "../../../src/config/qualify-keys.ts";

it("names the keys of the block as its host has it, and leaves what only looks like one", () => {
  const named = (text: string): string => qualifyKeys(text, "plugins.entries.reveille.config");
  expect(named("hooks.token: use hooks.mappings[0], not hooks[0]")).toBe(
    "plugins.entries.reveille.config.token: use plugins.entries.reveille.config.mappings[0], not plugins.entries.reveille.config[0]",
  );
  for (const text of ["/hooks/wake", "the hooks.", "webhooks.token", "./hooks.js", "a.hooks.b", "my-hooks.ts"]) {
    expect(named(text)).toBe(text);
  }
  expect(qualifyKeys("hooks.token", "hooks")).toBe("hooks.token");
});

it("leaves the names of hosts as they are", () => {
  for (const text of [
    "getaddrinfo ENOTFOUND hooks.slack.com",
    "connect ECONNREFUSED hooks.example:443",
    "TypeError: fetch failed (getaddrinfo ENOTFOUND hooks.slack.com)",
    "see https://hooks.zapier.com/hooks/catch, or ask hooks.example.org: nobody answers",
    "answered 404 in hooks.slack.com",
    "hooks.tokenizer.com is no key",
  ]) {
    expect(qualifyKeys(text, "plugins.entries.reveille.config")).toBe(text);
  }
});

it.each([
  ["hooks.tokn: unknown key", "B.tokn: unknown key"],
  ["not valid.\nhooks.custom.setting: is required", "not valid.\nB.custom.setting: is required"],
  ["warning  hooks.tokn: unknown key", "warning  B.tokn: unknown key"],
  ['refused {"error":"ConfigError: hooks.tokn: unknown key"}', 'refused {"error":"ConfigError: B.tokn: unknown key"}'],
  ["is also hooks.github.secret", "is also B.github.secret"],
  ["set it here or in hooks.github.", "set it here or in B.github."],
])("names also what the schema does not hold where it can only be a key: %j", (text, named) => {
  expect(qualifyKeys(text, "B")).toBe(named);
});
