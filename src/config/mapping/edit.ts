/** An edited configuration that is judged and never becomes active. */
import JSON5 from "json5";
import { ConfigError } from "../errors.ts";
import { showValue } from "../show-value.ts";
import { type MappingConfig, MappingSchema } from "./schema.ts";

/**
 * A mapping to be changed: its keys replace those of the mapping with that `id`, and `null` removes one. An id that no
 * mapping has makes a new mapping, after the others.
 */
export type EditedMapping = Readonly<Record<string, unknown>> & { readonly id: string };

/** What an edited configuration has instead of the active one. */
export interface ConfigEdit {
  /** A `hooks` block in place of the written one. */
  readonly hooks?: object | undefined;
  readonly mappings?: readonly EditedMapping[] | undefined;
}

/**
 * Reads an edit as people write it: JSON5 with a list of the mappings that change, a whole `hooks` block, or a whole
 * configuration that has one. Throws a {@link ConfigError}.
 */
export function readEdit(text: string): ConfigEdit {
  let value: unknown;
  try {
    value = JSON5.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^JSON5: /u, "") : String(error);
    throw new ConfigError([{ path: "edit", message: `is not JSON5: ${reason}` }]);
  }
  if (Array.isArray(value)) return { mappings: value.map(readChange) };
  if (typeof value !== "object" || value === null) {
    throw new ConfigError([
      { path: "edit", message: "must be a list of mappings with their ids, a hooks block, or a whole configuration" },
    ]);
  }
  return { hooks: "hooks" in value ? blockOf(value.hooks) : value };
}

function readChange(value: unknown, at: number): EditedMapping {
  const change = blockOf(value);
  if (typeof change["id"] === "string" && change["id"] !== "") return { ...change, id: change["id"] };
  throw new ConfigError([
    { path: `edit[${at}].id`, message: "must be the id of the mapping that changes, or a new one" },
  ]);
}

type Block = Readonly<Record<string, unknown>>;

/** The `hooks` block with an edit; `known` are the active mappings, those of presets among them. */
export function editedHooks(written: unknown, edit: ConfigEdit, known: readonly MappingConfig[]): unknown {
  const block = blockOf(edit.hooks === undefined ? written : withActive(edit.hooks, written));
  const mappings: Block[] = (Array.isArray(block["mappings"]) ? block["mappings"] : []).map(blockOf);
  for (const change of edit.mappings ?? []) {
    const at = mappings.findIndex((mapping, index) => (mapping["id"] ?? `mapping-${index + 1}`) === change.id);
    if (at === -1) mappings.push(withChange(ofPreset(block, change.id, known), change));
    else mappings[at] = withChange(mappings[at]!, change);
  }
  return { ...block, mappings };
}

const REFERENCE = /^\$\{\w+\}$/u;

/** An edit with the active values where it has a whole `${NAME}`: no other part of the environment is looked up for it. */
function withActive(value: unknown, active: unknown): unknown {
  if (typeof value === "string") return REFERENCE.test(value) && typeof active === "string" ? active : value;
  if (Array.isArray(value)) {
    const known: readonly unknown[] = Array.isArray(active) ? active : [];
    return value.map((item, at) => withActive(item, known[at]));
  }
  if (typeof value !== "object" || value === null) return value;
  const known = new Map(Object.entries(blockOf(active)));
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withActive(part, known.get(key))]));
}

/** Keys that a preset's block has as a mapping has them; the others find their way by themselves. */
const KEYS_OF_BLOCK: ReadonlySet<string> = new Set(Object.keys(MappingSchema.properties));

/**
 * A mapping of one's own with what a preset's mapping has, its filter and its rights among it: one's own mappings go
 * first. The secret, `auth` and settings of an enabled preset are those of its block for every mapping.
 */
function ofPreset(block: Block, id: string, known: readonly MappingConfig[]): Block {
  const mapping = known.find((each) => each.id === id);
  if (mapping?.preset === undefined) return {};
  const { preset, sender, match, settings } = mapping;
  const senders = blockOf(block["senders"]);
  const isNamed = sender !== undefined && Object.hasOwn(senders, sender);
  const written = blockOf(isNamed ? senders[sender] : block[preset]);
  const { preset: _preset, path: _path, secret, auth, ...rest } = written;
  const isOfMapping = (key: string): boolean => KEYS_OF_BLOCK.has(key) && !Object.hasOwn(settings, key);
  const entries = Object.entries(rest);
  const keys = Object.fromEntries(entries.filter(([key]) => isOfMapping(key)));
  const own = { ...keys, preset, match: { path: match.path } };
  if (!isNamed) return own;
  const others = Object.fromEntries(entries.filter(([key]) => !isOfMapping(key)));
  return {
    ...own,
    settings: others,
    ...(secret === undefined ? {} : { secret }),
    ...(auth === undefined ? {} : { auth }),
  };
}

function withChange(mapping: Block, change: EditedMapping): Block {
  return Object.fromEntries(Object.entries({ ...mapping, ...change }).filter(([, value]) => value !== null));
}

function blockOf(value: unknown): Block {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Block) : {};
}

/** Why a mapping of an edited configuration does not work, though it worked before or is new; a line for each. */
export function brokenByEdit(edited: readonly MappingConfig[], before: readonly MappingConfig[]): readonly string[] {
  const wereBroken = new Set(before.filter((mapping) => problemOf(mapping) !== undefined).map(({ id }) => id));
  return edited.flatMap((mapping) => {
    const problem = wereBroken.has(mapping.id) ? undefined : problemOf(mapping);
    return problem === undefined ? [] : [`${showValue(mapping.id)}: ${problem}`];
  });
}

function problemOf({ broken, kept }: MappingConfig): string | undefined {
  return broken ?? kept;
}
