import { manifestSchema } from "./manifest-schema.ts";

/** What the manifest of both hosts has in common. */
export interface PackageFacts {
  readonly name: string;
  readonly version: string;
  readonly description: string;
}

/** Shown by `openclaw --help`. */
const COMMAND = "What came in over webhooks, what became of it, and what to do about it.";

/**
 * `openclaw.plugin.json`: the manifest by which OpenClaw knows the plugin without loading it. OpenClaw
 * writes a schema's defaults into what the plugin is shown; they are left out, so that it sees what was written.
 */
export function openClawManifest({ name, version, description }: PackageFacts): object {
  return {
    id: name,
    name: "Reveille",
    description,
    version,
    activation: { onStartup: true },
    cliCommands: [{ name, description: COMMAND, hasSubcommands: true }],
    configSchema: withoutDefaults(manifestSchema()),
    uiHints: {
      token: { label: "Hook token", sensitive: true, help: "What callers authenticate with." },
      path: { label: "Path", help: "The prefix of the hooks; /reveille when absent." },
    },
  };
}

function withoutDefaults(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutDefaults);
  if (typeof node !== "object" || node === null) return node;
  const kept = Object.entries(node).filter(([key, value]) => key !== "default" || isSchema(value));
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutDefaults(value)]));
}

/** A property may be called `default`; the value of a default is no schema. */
function isSchema(value: unknown): boolean {
  return typeof value === "object" && value !== null && ("type" in value || "anyOf" in value || "$ref" in value);
}
