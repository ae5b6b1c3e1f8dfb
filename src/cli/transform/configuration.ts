/** Chooses the mapping that a transform is tried with. */
import { readdirSync, realpathSync, statSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import { Findings } from "../../config/errors.ts";
import type { HooksConfig } from "../../config/hooks.ts";
import type { MappingConfig } from "../../config/mapping/schema.ts";
import { fillIn } from "../../config/mapping/normalize.ts";
import type { GatewayHost, Logger } from "../../core/host.ts";
import { readSnapshot } from "../../ingress/active-config.ts";
import type { IngressHooks } from "../../ingress/hooks.ts";
import type { Preset } from "../../presets/preset.ts";
import { CODE_EXTENSIONS } from "../../transform/loader/compile-module.ts";
import { containedPath } from "../../transform/loader/containment.ts";
import { CliError } from "../errors.ts";
import type { CliIo } from "../io.ts";
import type { LocationOptions } from "../file-locations.ts";
import { printable } from "../terminal-text.ts";

export interface TransformModule {
  /** As a mapping names it: its real path relative to the transforms folder, with `/`. */
  readonly name: string;
  /** Real path. */
  readonly file: string;
}

const MAX_LISTED = 10;

/**
 * `given` is relative to the transforms folder, or else to the current one; either way it has to lie in
 * the transforms folder. Throws a {@link CliError} that says which modules there are.
 */
export function findTransformModule(
  given: string,
  { transformsDir, program }: { readonly transformsDir: string; readonly program: string },
): TransformModule {
  const candidates = [resolve(transformsDir, given), resolve(given)];
  for (const candidate of candidates) {
    const found = containedPath(transformsDir, candidate);
    if (found.ok && isFile(found.path)) return { name: nameOf(found.path, transformsDir), file: found.path };
    if (!found.ok && isFile(candidate)) {
      throw new CliError(`${printable(candidate)} ${found.reason}; a transform is a file inside of ${transformsDir}.`);
    }
  }
  throw new CliError(`There is no file ${printable(given)} in ${transformsDir}${modulesIn(transformsDir, program)}`);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function nameOf(file: string, transformsDir: string): string {
  return relative(realpathSync(transformsDir), file).split(sep).join("/");
}

function modulesIn(folder: string, program: string): string {
  const names = namesIn(folder).filter(
    (name) => !name.endsWith(".d.ts") && CODE_EXTENSIONS.some((each) => name.endsWith(each)),
  );
  if (names.length === 0) return `. To begin one: ${program} transform new <name>`;
  const more = names.length > MAX_LISTED ? " ..." : ".";
  return `. It has: ${names
    .slice(0, MAX_LISTED)
    .map((name) => printable(name))
    .join(", ")}${more}`;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch {
    return [];
  }
}

export interface ChosenMapping {
  /** With the module that is tried as its transform. */
  readonly mapping: MappingConfig;
  readonly isMadeUp: boolean;
}

export interface MappingOptions {
  /** `--mapping`. */
  readonly mappingId?: string | undefined;
  /** `--export`. */
  readonly exportName?: string | undefined;
  /** Of a stored delivery: the mapping that took it. */
  readonly deliveredTo?: string | null | undefined;
  /** The preset that a made-up mapping is one of. */
  readonly preset?: Preset | undefined;
}

const MADE_UP = "transform-test";
const NOTHING = {};

/**
 * The mapping that was named, else the only one with the module, else one that is invented. Throws a
 * {@link CliError} when several have the module, and nothing selects one.
 */
export function chooseMapping(config: HooksConfig, module: TransformModule, wishes: MappingOptions): ChosenMapping {
  const { mappingId, exportName, deliveredTo } = wishes;
  const mapping = mappingId === undefined ? onlyOne(config, module, deliveredTo) : named(config, mappingId);
  if (!mapping) {
    const made = madeUp(config, wishes.preset);
    return { mapping: { ...made, transform: { module: module.name, export: exportName } }, isMadeUp: true };
  }
  const own = isOf(mapping, module, config) ? mapping.transform?.export : undefined;
  return { mapping: { ...mapping, transform: { module: module.name, export: exportName ?? own } }, isMadeUp: false };
}

/** True when the mapping has that module as its transform. */
export function isOf({ transform }: MappingConfig, { file }: TransformModule, { transformsDir }: HooksConfig): boolean {
  if (transform === undefined) return false;
  const found = containedPath(transformsDir, transform.module);
  return found.ok && found.path === file;
}

function named({ mappings }: HooksConfig, id: string): MappingConfig {
  const mapping = mappings.find((each) => each.id === id);
  if (mapping) return mapping;
  const known = mappings.length === 0 ? "There is none." : `There are: ${idsOf(mappings)}.`;
  throw new CliError(`There is no mapping "${printable(id)}". ${known}`);
}

function onlyOne(
  config: HooksConfig,
  module: TransformModule,
  deliveredTo: string | null | undefined,
): MappingConfig | undefined {
  const all = config.mappings.filter((mapping) => isOf(mapping, module, config));
  if (all.length < 2) return all[0];
  const taker = all.find(({ id }) => id === deliveredTo);
  if (taker) return taker;
  throw new CliError(`Several mappings have ${module.name}; choose one with --mapping: ${idsOf(all)}.`);
}

function idsOf(mappings: readonly MappingConfig[]): string {
  return mappings.map(({ id }) => printable(id)).join(", ");
}

/** The mapping `{ match: { path }, transform }`, or with a preset the preset's mapping. */
function madeUp(config: HooksConfig, preset: Preset | undefined): MappingConfig {
  const place = { id: MADE_UP, where: MADE_UP, retry: config.retry };
  const base = preset && { part: preset, mapping: preset.mapping(NOTHING) };
  return { ...fillIn(NOTHING, place, new Findings(), base), accept: ["json", "form", "multipart", "text"] };
}

export interface TransformConfiguration {
  readonly config: HooksConfig;
  /** With what the plugins of the configuration have tapped. */
  readonly hooks: IngressHooks;
  readonly presets: ReadonlyMap<string, Preset>;
  readonly host: GatewayHost;
  /** Shuts its plugins down; to be called when it is no longer needed. */
  readonly close: () => Promise<void>;
}

/**
 * Reads the file, applies its plugins and judges its `hooks` block. Whatever is wrong with a module of
 * another mapping does not matter here. Rejects with a `ConfigError`.
 */
export async function readTransformConfiguration(
  options: LocationOptions,
  { io, logger }: { io: Pick<CliIo, "gateway" | "env">; logger: Logger },
): Promise<TransformConfiguration> {
  const { host, hooks, snapshot, close } = await io.gateway.open(options, { logger });
  try {
    const { config, presets } = await readSnapshot(snapshot, { host, hooks, env: io.env });
    return { config, hooks, presets, host, close };
  } catch (error) {
    await close();
    throw error;
  }
}
