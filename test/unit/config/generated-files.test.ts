import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Compile } from "typebox/schema";
import { generatedFiles } from "../../../scripts/generate.ts";
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
    expect(configSchema).toMatchObject({ type: "object", additionalProperties: false });
  });

  it("plugin.json carries a JSON schema that judges a block by itself", () => {
    const { configSchema } = parse(readFileSync(join(root, "plugin.json"), "utf8"));
    const validator = Compile(configSchema as object);
    const mapping = { match: { path: "a" }, action: "wake", textTemplate: "t", transform: { module: "a.js" } };
    expect(validator.Check({ enabled: true, token: [GOOD_TOKEN, { env: "A" }], mappings: [mapping] })).toBe(true);
    expect(validator.Check({ enabled: true, tokn: GOOD_TOKEN })).toBe(false);
    expect(validator.Check({ mappings: [{ ...mapping, action: "wak" }] })).toBe(false);
    expect(validator.Check({ mappings: [{ ...mapping, transform: { module: "../a.js" } }] })).toBe(false);
  });

  it("docs/configuration.md has a row for every key", () => {
    const text = readFileSync(join(root, "docs/configuration.md"), "utf8");
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
    const gatewaySchema = "src/embedded/config/gateway-schema.ts";
    const sources = ["src/config", gatewaySchema, "src/host.ts", "src/delivery.ts", "scripts/generate.ts"];
    for (const path of ["package.json", ...sources]) {
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
    expect(check()).toMatchObject({ status: 1, stderr: expect.stringContaining("docs/configuration.md is stale") });
    execFileSync(process.execPath, [script]);
    expect(check()).toMatchObject({ status: 0, stderr: "" });
    for (const { path, text } of generatedFiles()) expect(readFileSync(join(copy, path), "utf8")).toBe(text);
    writeFileSync(join(copy, "plugin.json"), "{}");
    expect(check()).toMatchObject({ status: 1, stderr: "plugin.json is stale: run node scripts/generate.ts\n" });
  });
});
