import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Compile } from "typebox/schema";
import { generatedFiles } from "../../../scripts/generate.ts";
import { BUILT_IN_PRESETS } from "../../../src/presets/built-in.ts";
import { GOOD_TOKEN } from "./hooks-context.ts";

const root = join(import.meta.dirname, "../../..");
const parse = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

describe("generated files", () => {
  it.each(generatedFiles())("$path is what the schema makes it; otherwise run: node scripts/generate.ts", (file) => {
    expect(readFileSync(join(root, file.path), "utf8")).toBe(file.text);
  });

  it("plugin.json names the plugin, its entry and the lifecycle hooks it taps", () => {
    const { configSchema, ...manifest } = parse(readFileSync(join(root, "plugin.json"), "utf8"));
    const about = parse(readFileSync(join(root, "package.json"), "utf8"));
    expect(manifest).toEqual({
      id: "reveille",
      name: "Reveille",
      description: about["description"],
      version: about["version"],
      entry: "./dist/index.js",
      pluginApi: "1",
      lifecycle: ["onConfigLoad", "onHttpRoute", "onShutdown"],
    });
    expect(configSchema).toMatchObject({ type: "object", additionalProperties: { type: "object" } });
  });

  it("plugin.json carries a JSON schema that judges a block by itself", () => {
    const { configSchema } = parse(readFileSync(join(root, "plugin.json"), "utf8"));
    const validator = Compile(configSchema as object);
    const mapping = { match: { path: "a" }, action: "wake", textTemplate: "t", transform: { module: "a.js" } };
    expect(validator.Check({ enabled: true, token: [GOOD_TOKEN, { env: "A" }], mappings: [mapping] })).toBe(true);
    expect(validator.Check({ enabled: true, tokn: GOOD_TOKEN })).toBe(false);
    expect(validator.Check({ mappings: [{ ...mapping, action: "wak" }] })).toBe(false);
    expect(validator.Check({ mappings: [{ ...mapping, transform: { module: "../a.js" } }] })).toBe(false);
    expect(validator.Check({ mappings: [{ ...mapping, auth: { from: "header:x" } }] })).toBe(true);
    expect(validator.Check({ mappings: [{ ...mapping, auth: { from: "cookie:x" } }] })).toBe(false);
  });

  it("plugin.json knows the blocks of presets, and lets plugins bring others", () => {
    const { configSchema } = parse(readFileSync(join(root, "plugin.json"), "utf8"));
    const validator = Compile(configSchema as object);
    expect(validator.Check({ acme: { anything: true } })).toBe(true);
    expect(validator.Check({ acme: "anything" })).toBe(false);
    for (const preset of BUILT_IN_PRESETS.filter(({ name }) => name !== "gmail")) {
      const settings = Object.fromEntries(preset.secretSettings.map((key) => [key, { env: "A" }]));
      expect(validator.Check({ [preset.name]: { secret: { env: "A" }, path: "p", ...settings } })).toBe(true);
      expect(validator.Check({ [preset.name]: { secrt: { env: "A" } } })).toBe(false);
      expect(validator.Check({ [preset.name]: { auth: { scheme: "magic" } } })).toBe(false);
    }
  });

  it("plugin.json has each part that is used in several places once", () => {
    const text = readFileSync(join(root, "plugin.json"), "utf8");
    expect(text.split('"Place of the signing time. Required unless the preset has it."')).toHaveLength(2);
    expect(text.split('"Name of an environment variable that holds the secret."')).toHaveLength(2);
  });

  it("docs/use/configuration.md describes every preset and its settings", () => {
    const text = readFileSync(join(root, "docs/use/configuration.md"), "utf8");
    expect(text).toContain("\n### `hooks.<preset>`\n");
    for (const { name, title, settings } of BUILT_IN_PRESETS) {
      expect(text).toContain(`\n| \`${name}\` | ${title} | `);
      if (settings === undefined) continue;
      const section = text.split(`\n### \`hooks.${name}\`\n`)[1]?.split("\n### ")[0];
      for (const key of Object.keys(settings.properties)) expect(section).toContain(`\n| \`${key}\` | `);
    }
  });

  it("docs/use/configuration.md has a row for every key", () => {
    const text = readFileSync(join(root, "docs/use/configuration.md"), "utf8");
    const { configSchema } = parse(readFileSync(join(root, "plugin.json"), "utf8"));
    const { properties } = configSchema as { properties: Record<string, object> };
    for (const key of Object.keys(properties)) expect(text).toContain(`\n| \`${key}\` | `);
    expect(text).toContain("| `maxDepth` | whole number | `64` | 1 to 1,024 | ");
    expect(text).toContain('| `action` | `wake`, `agent` | `"agent"` |');
    for (const heading of [
      "lockout",
      "mappings[]",
      "mappings[].match",
      "mappings[].transform",
      "mappings[].auth",
      "mappings[].auth.timestamp",
      "mappings[].handshakes[]",
      "gmail",
      "gmail.serve",
    ]) {
      expect(text).toContain(`\n### \`hooks.${heading}\`\n`);
    }
  });
});

describe("scripts/generate.ts", () => {
  let copy: string;

  beforeEach(() => {
    copy = mkdtempSync(join(tmpdir(), "generate-"));
    for (const path of ["package.json", "src", "scripts"]) {
      cpSync(join(root, path), join(copy, path), { recursive: true });
    }
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  });

  afterEach(() => {
    rmSync(copy, { recursive: true, force: true });
  });

  it("writes the files, and with --check fails naming each that is stale", () => {
    const script = join(copy, "scripts/generate.ts");
    const check = (): { status: number | null; stderr: string } =>
      spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
    expect(check()).toMatchObject({ status: 1, stderr: expect.stringContaining("docs/use/configuration.md is stale") });
    execFileSync(process.execPath, [script]);
    expect(check()).toMatchObject({ status: 0, stderr: "" });
    for (const { path, text } of generatedFiles()) expect(readFileSync(join(copy, path), "utf8")).toBe(text);
    writeFileSync(join(copy, "plugin.json"), "{}");
    expect(check()).toMatchObject({ status: 1, stderr: "plugin.json is stale: run node scripts/generate.ts\n" });
  });
});
