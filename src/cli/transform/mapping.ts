/** Chooses the mapping that a transform is tried with. */
import { Findings } from "../../config/findings.ts";
import type { HooksConfig, MappingConfig } from "../../config/hooks-config.ts";
import { fillIn } from "../../config/normalize-mapping.ts";
import type { Preset } from "../../presets/preset.ts";
import { containedPath } from "../../transform/loader/containment.ts";
import { CliError } from "../cli-error.ts";
import { printable } from "../printable.ts";
import type { TransformModule } from "./module.ts";

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
 * The mapping that was named, else the only one with the module, else one that is made up. Throws a
 * {@link CliError} when several have the module, and nothing tells which is meant.
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
  throw new CliError(`Several mappings have ${module.name}; say which is meant with --mapping: ${idsOf(all)}.`);
}

function idsOf(mappings: readonly MappingConfig[]): string {
  return mappings.map(({ id }) => printable(id)).join(", ");
}

/** What `{ match: { path }, transform }` would be, or with a preset the preset's mapping. */
function madeUp(config: HooksConfig, preset: Preset | undefined): MappingConfig {
  const place = { id: MADE_UP, where: MADE_UP, retry: config.retry };
  const base = preset && { part: preset, mapping: preset.mapping(NOTHING) };
  return { ...fillIn(NOTHING, place, new Findings(), base), accept: ["json", "form", "text"] };
}
