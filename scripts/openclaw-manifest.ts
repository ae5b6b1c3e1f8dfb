import { DELIVERIES_TOOL } from "../src/hosts/openclaw/owner-access.ts";
import { manifestSchema } from "../src/cli/manifest-schema.ts";

/** The facts that the manifests of both hosts share. */
export interface PackageFacts {
  readonly name: string;
  readonly version: string;
  readonly description: string;
}

/** Shown by `openclaw --help`. */
const COMMAND = "Webhook calls: what arrived, its state, and how to act on it.";

/** The folder of the plugin's state below the host's state folder. */
const STATE_FOLDER = "reveille";

interface Group {
  readonly id: string;
  readonly title: string;
  readonly properties: readonly string[];
}

/** Sections of the host's settings page, in their order; every key that none names is a sender. */
const GROUPS: readonly Group[] = [
  { id: "endpoint", title: "Endpoint", properties: ["enabled", "token", "tokenHeader", "path", "publicUrl"] },
  {
    id: "routes",
    title: "Routes and senders",
    properties: ["presets", "senders", "mappings", "transforms", "transformsDir", "internal"],
  },
  {
    id: "choices",
    title: "What callers may choose",
    properties: [
      "allowedAgentIds",
      "requireAllowedAgent",
      "defaultSessionKey",
      "allowRequestSessionKey",
      "allowedSessionKeyPrefixes",
    ],
  },
  {
    id: "runs",
    title: "Runs",
    properties: [
      "concurrency",
      "maxQueuedRuns",
      "maxFanOut",
      "defaultTimeoutSeconds",
      "interrupted",
      "retry",
      "budget",
      "waitSeconds",
      "maxWaiting",
      "callbacks",
      "notices",
    ],
  },
  {
    id: "limits",
    title: "Limits",
    properties: [
      "maxBodyBytes",
      "maxUnverifiedBytes",
      "bodyTimeoutSeconds",
      "maxDepth",
      "maxInFlight",
      "lockout",
      "idempotencyTtl",
      "retention",
    ],
  },
];

/** Keys that most owners set; the settings page folds the others away. */
const COMMON: ReadonlySet<string> = new Set(["enabled", "token", "path", "presets", "mappings", "allowedAgentIds"]);

/** Settings that `openclaw security audit` and `doctor` name as dangerous when they are true. */
const DANGEROUS = [
  "allowRequestSessionKey",
  "mappings.*.allowUnsafeExternalContent",
  "senders.*.allowUnsafeExternalContent",
  "*.allowUnsafeExternalContent",
];

/**
 * `openclaw.plugin.json`: the manifest by which OpenClaw knows the plugin without loading it. OpenClaw
 * writes a schema's defaults into the block that the plugin reads; they are left out, so that the plugin reads what
 * the owner wrote.
 */
export function openClawManifest({ name, version, description }: PackageFacts): object {
  const schema = manifestSchema() as Schema;
  const keys = Object.keys(schema.properties ?? {});
  return {
    id: name,
    name: "Reveille",
    description,
    version,
    categories: ["integrations"],
    activation: { onStartup: true },
    cliCommands: [{ name, description: COMMAND, hasSubcommands: true }],
    backupResources: [{ disposition: "include", scope: "state", relativePath: STATE_FOLDER }],
    configContracts: {
      secretInputs: { paths: secretPaths(schema).map((path) => ({ path, expected: "string" })) },
      dangerousFlags: DANGEROUS.map((path) => ({ path, equals: true })),
    },
    contracts: { tools: [DELIVERIES_TOOL] },
    configGroups: configGroups(keys),
    configSchema: { ...(lenient(schema) as object), additionalProperties: true },
    uiHints: Object.fromEntries(keys.map((key) => [key, hintOf(key, resolved(schema, schema.properties![key]!))])),
  };
}

interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly description?: string;
  readonly writeOnly?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

/** Follows a reference to a shared part; the keys beside it are laid over. */
function resolved(root: Schema, node: Schema): Schema {
  const { $ref, ...own } = node;
  if ($ref === undefined) return node;
  const shared = root.$defs?.[$ref.slice("#/$defs/".length)] ?? {};
  const properties = { ...shared.properties, ...own.properties };
  return { ...shared, ...own, ...(Object.keys(properties).length === 0 ? {} : { properties }) };
}

/** The paths of every secret of the block, with `*` for the names of maps and the places of lists. */
function secretPaths(root: Schema): readonly string[] {
  const found = new Set<string>();
  const visit = (written: Schema, path: readonly string[]): void => {
    const node = resolved(root, written);
    if (node.writeOnly === true) {
      found.add(path.join("."));
      if (node.anyOf?.some(({ items }) => items !== undefined) === true) found.add([...path, "*"].join("."));
      return;
    }
    for (const [key, value] of Object.entries(node.properties ?? {})) visit(value, [...path, key]);
    for (const value of Object.values(node.patternProperties ?? {})) visit(value, [...path, "*"]);
    if (typeof node.additionalProperties === "object") visit(node.additionalProperties, [...path, "*"]);
    if (node.items !== undefined) visit(node.items, [...path, "*"]);
    for (const value of node.anyOf ?? []) visit(value, path);
  };
  visit(root, []);
  // The schema leaves the keys of a named sender to its preset.
  for (const path of ["secret", "secret.*", "auth.secret", "auth.secret.*"]) found.add(`senders.*.${path}`);
  return [...found];
}

function configGroups(keys: readonly string[]): readonly object[] {
  const grouped = new Set(GROUPS.flatMap(({ properties }) => properties));
  const senders = { id: "senders", title: "Settings of built-in senders" };
  return [...GROUPS, { ...senders, properties: keys.filter((key) => !grouped.has(key)) }].map((group, at) => ({
    ...group,
    order: (at + 1) * 10,
  }));
}

function hintOf(key: string, { description, writeOnly }: Schema): object {
  const words = key.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replaceAll("-", " ");
  return {
    label: `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`,
    ...(description === undefined ? {} : { help: description }),
    ...(writeOnly === true ? { sensitive: true } : {}),
    ...(COMMON.has(key) ? {} : { advanced: true }),
  };
}

/** What a schema refuses by, beside the types of values. */
const STRICT: ReadonlySet<string> = new Set([
  "additionalProperties",
  "unevaluatedProperties",
  "required",
  "minProperties",
  "maxProperties",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "pattern",
  "format",
  "default",
]);

/**
 * A schema that takes every key and every bound. OpenClaw does not start at all with a block that its schema refuses;
 * Reveille refuses it with a reason, and the rest of the gateway serves.
 */
function lenient(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(lenient);
  if (typeof node !== "object" || node === null) return node;
  const kept = Object.entries(node).filter(([key, value]) => !STRICT.has(key) || isProperty(value));
  return Object.fromEntries(kept.map(([key, value]) => [key, key === "enum" ? value : lenient(value)]));
}

/** A property may be called `default` or `pattern`; the value of a rule is no schema. */
function isProperty(value: unknown): boolean {
  return typeof value === "object" && value !== null && ("type" in value || "anyOf" in value || "$ref" in value);
}
