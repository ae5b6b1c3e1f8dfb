import { AuthSchema } from "../config/auth/schema.ts";
import { HandshakeSchema } from "../config/handshake.ts";
import { MappingSchema } from "../config/mapping/schema.ts";
import { PresetBlockSchema, writtenSettings } from "../config/preset.ts";
import { HooksSchema } from "../config/hooks.ts";
import { secretReference } from "../config/schema-parts.ts";
import { isPresetKey } from "../config/valid-subset.ts";
import { BUILT_IN_PRESETS } from "../presets/built-in.ts";
import { plain, type SchemaNode } from "./plain-schema.ts";

/** Parts that are in several places, by the name under which the manifest has each of them once. */
const SHARED: Readonly<Record<string, object>> = {
  secretReference: secretReference(),
  transform: MappingSchema.properties.transform,
  coalesce: MappingSchema.properties.coalesce,
  retry: MappingSchema.properties.retry,
  fallback: MappingSchema.properties.fallback,
  budget: MappingSchema.properties.budget,
  respond: MappingSchema.properties.respond,
  auth: AuthSchema,
  handshake: HandshakeSchema,
};

/**
 * The schema of the `hooks` block for programs that judge it by itself (JSON Schema 2020-12). The presets
 * of plugins are not known to it: whatever key it does not have may hold an object.
 */
export function manifestSchema(): object {
  const {
    properties,
    additionalProperties: _,
    ...hooks
  } = plain(HooksSchema) as SchemaNode & {
    additionalProperties: unknown;
  };
  const { properties: presetKeys } = withoutDefaults(plain(PresetBlockSchema));
  const shared = Object.entries({ ...SHARED, presetKeys: { type: "object", properties: presetKeys } });
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    ...hooks,
    properties: { ...(sharing(properties!) as object), ...presetBlocks() },
    additionalProperties: { type: "object", description: "Settings of a preset that a plugin brings." },
    $defs: Object.fromEntries(shared.map(([name, schema]) => [name, sharing(plain(schema), name)])),
  };
}

function presetBlocks(): object {
  const blocks = BUILT_IN_PRESETS.filter(({ name }) => isPresetKey(name)).map((preset) => {
    const { properties } = writtenSettings(preset);
    const own = Object.keys(properties).length === 0 ? {} : { properties: sharing(plain(properties)) };
    const description = `Settings of the preset \`${preset.name}\`, ${preset.title}.`;
    return [preset.name, { description, $ref: "#/$defs/presetKeys", ...own, unevaluatedProperties: false }];
  });
  return Object.fromEntries(blocks) as object;
}

/** Puts a reference instead of every part that is shared; `itself` is the name of the whole. */
function sharing(node: unknown, itself?: string): unknown {
  if (typeof node !== "object" || node === null) return node;
  const text = JSON.stringify(node);
  for (const [name, schema] of Object.entries(SHARED)) {
    if (name !== itself && JSON.stringify(schema) === text) return { $ref: `#/$defs/${name}` };
  }
  if (Array.isArray(node)) return node.map((item) => sharing(item));
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, sharing(value)]));
}

/** What a key of a preset's block is when it is not written is for the preset to say. */
export function withoutDefaults(schema: SchemaNode): SchemaNode {
  const properties = Object.entries(schema.properties ?? {}).map(([key, node]) => [
    key,
    { ...node, default: undefined },
  ]);
  return { ...schema, properties: Object.fromEntries(properties) as SchemaNode["properties"] };
}
