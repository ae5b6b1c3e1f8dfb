import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import plugin from "../../../../src/openclaw-plugin.ts";
import { OLDEST_HOST } from "../../../../src/hosts/openclaw/require-calls.ts";

const root = join(import.meta.dirname, "../../../..");

function read(file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(root, file), "utf8")) as Record<string, unknown>;
}

it("gives the host the schema of plugin.json, without the defaults that it would write into the block", () => {
  const ours = read("plugin.json");
  const theirs = read("openclaw.plugin.json");
  expect(theirs["id"]).toBe(ours["id"]);
  const withoutDefaults = JSON.stringify(ours["configSchema"], (_key, value: unknown) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).filter(([key, inner]) => key !== "default" || isSchema(inner)));
  });
  expect(JSON.stringify(theirs["configSchema"])).toBe(withoutDefaults);
  expect(JSON.stringify(ours["configSchema"])).not.toBe(withoutDefaults);
});

it("has the same id in the manifest and in the entry, and names an entry that the build makes", () => {
  const { openclaw, files } = read("package.json") as {
    openclaw: { extensions: string[]; runtimeExtensions: string[]; compat: { pluginApi: string } };
    files: string[];
  };
  expect(read("openclaw.plugin.json")).toMatchObject({ id: plugin.id, name: plugin.name });
  expect(openclaw.runtimeExtensions).toEqual(openclaw.extensions);
  expect(openclaw.compat.pluginApi).toBe(`>=${OLDEST_HOST}`);
  expect(files).toContain("openclaw.plugin.json");
  for (const entry of openclaw.extensions) {
    const source = entry.replace(/^\.\/dist\//, "src/").replace(/\.js$/, ".ts");
    expect(existsSync(join(root, source))).toBe(true);
  }
});

function isSchema(value: unknown): boolean {
  return typeof value === "object" && value !== null && ("type" in value || "anyOf" in value || "$ref" in value);
}
