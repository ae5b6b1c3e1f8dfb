import { join, parse, relative } from "node:path";
import { ConfigError } from "../config/errors.ts";
import type { ConfigIssue } from "../config/errors.ts";
import { reasonLine } from "../core/reason-of.ts";
import { containedPath } from "../transform/loader/containment.ts";
import { describeFailure } from "../transform/loader/describe-error.ts";
import { withLoadTimeout } from "../transform/loader/load-timeout.ts";
import type { TransformsRoot } from "../transform/loader/containment.ts";
import { definePreset, isPreset } from "./define-preset.ts";
import type { PresetDefinition } from "./define-preset.ts";
import type { PresetRegistry } from "./registry.ts";
import type { Preset } from "./preset.ts";

const FOLDER = join("hooks", "presets");
/** Of each module, its top-level awaits included. */
const LOAD_TIMEOUT_MS = 30_000;

/** The presets that were loaded from modules, by the paths that name them. */
export type PresetModules = ReadonlyMap<string, Preset>;

interface LoadPresetModulesOptions {
  readonly configDir: string;
  readonly registry: PresetRegistry;
  /** Presets active now: a module that fails keeps its version in here, or is set aside. Absent: it refuses the block. */
  readonly before?: PresetModules | undefined;
  readonly loadTimeoutMs?: number;
}

/**
 * Loads the presets that `hooks.presets` names by a path (`./acme.ts`) in `<configDir>/hooks/presets`,
 * adds them to the registry, and gives the block back with their names instead of the paths, and the presets by
 * their paths.
 *
 * A module exports by default what `definePreset` made, or the definition itself. It is confined to the
 * folder by the real path of every file it loads; `reveille` is this package's own copy. Throws a
 * `ConfigError` with every issue. A block of another shape is given back as it is, for the schema to judge.
 */
export async function loadPresetModules(
  block: unknown,
  { configDir, registry, before, loadTimeoutMs = LOAD_TIMEOUT_MS }: LoadPresetModulesOptions,
): Promise<{ readonly block: unknown; readonly modules: PresetModules }> {
  const written = presetsOf(block);
  const modules = new Map<string, Preset>();
  if (!written.some(isPath)) return { block, modules };
  const folder = join(configDir, FOLDER);
  const found = containedPath(configDir, folder);
  if (!found.ok) throw new ConfigError([{ path: "hooks.presets", message: `${FOLDER} ${found.reason}` }]);
  const root: TransformsRoot = { path: found.path, name: relative(configDir, folder) };
  const { ModuleLoader } = await import("../transform/loader/module-loader.ts");
  const authoring = await import("./authoring.ts");
  const loader = new ModuleLoader(root, { provided: new Map([["reveille", authoring]]) });
  const issues: ConfigIssue[] = [];
  const presets: unknown[] = [];
  for (const [at, entry] of written.entries()) {
    if (!isPath(entry)) {
      presets.push(entry);
      continue;
    }
    let exported: { readonly of: unknown } | undefined;
    try {
      exported = { of: await withLoadTimeout(loader.load(entry), loadTimeoutMs) };
      const preset = presetIn(exported.of);
      if (registry.get(preset.name) === undefined) registry.add(preset);
      else issues.push({ path: `hooks.presets[${at}]`, message: `"${preset.name}" is the name of a preset already` });
      presets.push(preset.name);
      modules.set(entry, preset);
    } catch (error) {
      const entryFile = join(root.path, entry);
      const reason =
        exported === undefined
          ? describeFailure(error, { entry: entryFile, root, positions: loader.positions })
          : reasonLine(error);
      const issue = { path: `hooks.presets[${at}]`, message: reason };
      const name = before === undefined ? undefined : setAside(entry, issue, { registry, before, modules });
      if (before === undefined) issues.push(issue);
      if (name !== undefined) presets.push(name);
    }
  }
  if (issues.length > 0) throw new ConfigError(issues);
  return { block: { ...(block as object), presets }, modules };
}

/** Keeps the version before of a preset, or records it as missing; gives the name that it has or seems to have. */
function setAside(
  entry: string,
  issue: ConfigIssue,
  { registry, before, modules }: { registry: PresetRegistry; before: PresetModules; modules: Map<string, Preset> },
): string | undefined {
  const version = before.get(entry);
  if (version !== undefined && registry.get(version.name) === undefined) {
    registry.add(version);
    registry.keep({ ...issue, names: [version.name] });
    modules.set(entry, version);
    return version.name;
  }
  const name = parse(entry).name;
  // The module cannot have a name that is taken, so its preset has another one.
  const isTaken = registry.get(name) !== undefined;
  registry.miss({ ...issue, ...(!isTaken && { name }) });
  return isTaken ? undefined : name;
}

function presetsOf(block: unknown): readonly unknown[] {
  if (typeof block !== "object" || block === null || !("presets" in block)) return [];
  return Array.isArray(block.presets) ? (block.presets as unknown[]) : [];
}

function isPath(entry: unknown): entry is string {
  return typeof entry === "string" && entry.startsWith("./");
}

function presetIn(exports: unknown): Preset {
  const exported: unknown =
    typeof exports === "object" && exports !== null && Object.hasOwn(exports, "default")
      ? (exports as { default: unknown }).default
      : undefined;
  if (typeof exported !== "object" || exported === null || !("name" in exported)) {
    throw new TypeError("the module does not export a preset by default; write: export default definePreset({ ... })");
  }
  return isPreset(exported) ? exported : definePreset(exported as PresetDefinition);
}
