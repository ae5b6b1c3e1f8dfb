/**
 * Writes what is made from the configuration's schemas: `plugin.json`, `openclaw.plugin.json`,
 * `docs/use/configuration.md` and `docs/operate/gateway-configuration.md`; and, from the presets, `docs/use/senders.md`.
 * `node scripts/generate.ts` writes them, `--check` only compares and exits 1 when one is stale.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { HooksSchema } from "../src/config/hooks.ts";
import { GatewaySchema } from "../src/hosts/embedded/config/schema.ts";
import { manifestSchema } from "../src/cli/manifest-schema.ts";
import { openClawManifest } from "./openclaw-manifest.ts";
import { plain } from "../src/cli/plain-schema.ts";
import type { SchemaNode } from "../src/cli/plain-schema.ts";
import { presetReference } from "./preset-reference.ts";
import { sendersPage } from "./senders-page.ts";

/** A generated file: its path from the root of the repository, and what it has to hold. */
export interface GeneratedFile {
  readonly path: string;
  readonly text: string;
}

interface Package {
  readonly name: string;
  readonly version: string;
  readonly description: string;
}

const root = join(import.meta.dirname, "..");
const configSchema = plain(HooksSchema);

/** The generated files as they have to be. */
export function generatedFiles(): GeneratedFile[] {
  const about = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Package;
  return [
    { path: "plugin.json", text: `${JSON.stringify(manifest(about), null, 2)}\n` },
    // OpenClaw alone reads it: without spaces before the lines the package is 4 KB smaller.
    {
      path: "openclaw.plugin.json",
      text: `${JSON.stringify(openClawManifest(about), null, 1).replaceAll(/^ +/gmu, "")}\n`,
    },
    {
      path: "docs/use/configuration.md",
      text: `${reference(configSchema, "hooks", INTRODUCTION)}\n${presetReference(describe)}`,
    },
    { path: "docs/use/senders.md", text: sendersPage() },
    { path: "docs/operate/gateway-configuration.md", text: reference(plain(GatewaySchema), "", GATEWAY_INTRODUCTION) },
  ];
}

function manifest({ name, version, description }: Package): object {
  return {
    id: name,
    name: "Reveille",
    description,
    version,
    entry: "./dist/index.js",
    pluginApi: "1",
    lifecycle: ["onConfigLoad", "onHttpRoute", "onShutdown"],
    configSchema: manifestSchema(),
  };
}

const INTRODUCTION = `# Configuration: the \`hooks\` block

<!-- Made from the schema by scripts/generate.ts: change src/config/ and run it again. -->

A block that is wrong is refused as a whole, with one line for each thing that is wrong in it, and the active one stays. Unknown keys are refused. No key is required except \`token\` once \`enabled\` is \`true\`, and the keys marked "required" where their object is there at all. Beside the keys of this page stands one block for each preset, [\`hooks.<preset>\`](#presets).

- A **size** is a number of bytes, or a string such as \`"256kb"\` (units \`b\`, \`kb\`, \`mb\`, \`gb\`, of 1024).
- A **duration** is a number of seconds, or a string such as \`"24h"\` (units \`ms\`, \`s\`, \`m\`, \`h\`, \`d\`, \`w\`).
- A **secret** is a string, \`{ "env": "NAME" }\` (an environment variable) or \`{ "file": "path" }\` (a regular file that only its owner may use; relative to the configuration's folder). Spaces and line breaks around it do not count.
- A **template** is text in which \`{{path}}\` is replaced by what the payload holds there.
- A **place in the request** is \`header:<name>\`, \`query:<name>\`, \`body:<path>\` with a path as templates have it, or \`pair:<key>\` of a signature header that is a list of \`key=value\`.
- Strings without a bound of their own may have 1,024 characters.
`;

const GATEWAY_INTRODUCTION = `# Configuration: the embedded gateway

<!-- Made from the schema by scripts/generate.ts: change src/hosts/embedded/config/schema.ts and run it again. -->

Every key of the file beside \`hooks\`, which has [a page of its own](../use/configuration.md). Sizes, durations and secrets are written as there. Unknown keys are refused. No key is required except \`gateway.auth.token\`, and the keys marked "required" where their object is there at all. [The embedded gateway](gateway.md) explains what the keys do.
`;

/** The page of a schema; `path` is that of its root. */
function reference(schema: SchemaNode, path: string, introduction: string): string {
  const sections = [introduction];
  describe(schema, path, sections);
  return sections.join("\n");
}

/** Adds the table of an object, then those of the objects in it, but for the keys in `without`. */
function describe(node: SchemaNode, path: string, sections: string[], without: readonly string[] = []): void {
  const others = typeof node.additionalProperties === "object" ? { "<name>": node.additionalProperties } : {};
  const properties = Object.entries({ ...node.properties, ...others });
  const rows = properties.map(([key, property]) => tableRow(key, property, node.required?.includes(key) ?? false));
  const isRoot = !path.includes(".");
  const heading = `${isRoot ? "##" : "###"} ${path === "" ? "The file" : `\`${path}\``}`;
  const meaning = path === "hooks" || node.description === undefined ? [] : [node.description, ""];
  const table = [
    "<!-- prettier-ignore -->",
    "| key | type | default | bounds | meaning |",
    "|---|---|---|---|---|",
    ...rows,
  ];
  sections.push([heading, "", ...meaning, ...table, ""].join("\n"));
  for (const [key, property] of properties) {
    const [inner, step] = innerOf(property);
    if (without.includes(key) || Object.keys(inner.properties ?? {}).length === 0) continue;
    describe(inner, `${path === "" ? "" : `${path}.`}${key}${step}`, sections);
  }
}

/** What is in a list, a branch of a union or behind the names of an object, and how its path continues; else the node itself. */
function innerOf(node: SchemaNode): [SchemaNode, string] {
  if (node.items) return [node.items, "[]"];
  const [named] = Object.values(node.patternProperties ?? {});
  if (named !== undefined) return [named, ".<name>"];
  // A secret is described once for all, in the introduction.
  const branch = node.anyOf?.find(({ properties, description }) => properties && description !== undefined);
  return [branch ?? node, ""];
}

function tableRow(key: string, node: SchemaNode, isRequired: boolean): string {
  const defaultCell = isRequired ? "required" : defaultOf(node);
  const cells = [`\`${key}\``, typeOf(node), defaultCell, boundsOf(node), node.description ?? ""];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function typeOf(node: SchemaNode): string {
  if (node.enum) return node.enum.map((value) => `\`${value}\``).join(", ");
  if (node.type === "array" && node.items?.enum) return `list of ${typeOf(node.items)}`;
  if (node.title !== undefined)
    return node.title.replace(/^(?:an?|the) /, "").replaceAll(/\{[^}]*\}|"[^"]*"|<\w+>\/<\w+>/g, "`$&`");
  if (node.items) return node.items.type === "string" ? "list of strings" : "list of objects";
  if (node.patternProperties) return "object, by name";
  return node.type === "integer" ? "whole number" : (node.type ?? "anything");
}

function defaultOf(node: SchemaNode): string {
  return node.default === undefined ? "none" : `\`${JSON.stringify(node.default)}\``;
}

function boundsOf(node: SchemaNode): string {
  const numeric = node.anyOf?.find(({ minimum }) => minimum !== undefined) ?? node;
  if (numeric.minimum !== undefined && numeric.maximum !== undefined) {
    const unit = node.title?.includes("bytes") ? " bytes" : node.title?.includes("seconds") ? " s" : "";
    return `${count(numeric.minimum)} to ${count(numeric.maximum)}${unit}`;
  }
  const list = node.anyOf?.find(({ maxItems }) => maxItems !== undefined) ?? node;
  if (list.maxItems !== undefined) return `at most ${count(list.maxItems)} entries`;
  if (node.maxLength !== undefined && node.maxLength !== 1_024) return `at most ${count(node.maxLength)} characters`;
  return "";
}

function count(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 3 });
}

if (import.meta.main) {
  for (const { path, text } of generatedFiles()) {
    const file = join(root, path);
    if (process.argv.includes("--check")) {
      if (readOrEmpty(file) === text) continue;
      console.error(`${path} is stale: run node scripts/generate.ts`);
      process.exitCode = 1;
    } else {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
  }
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
