import { declaredSettings, PresetBlockSchema, writtenSettings } from "../src/config/preset.ts";
import { isPresetKey } from "../src/config/valid-subset.ts";
import { BUILT_IN_PRESETS } from "../src/presets/built-in.ts";
import type { Preset } from "../src/presets/preset.ts";
import { withoutDefaults } from "../src/cli/manifest-schema.ts";
import { plain, type SchemaNode } from "../src/cli/plain-schema.ts";

/** Adds the table of an object at a path, and those of the objects in it but for some. */
type Describe = (node: SchemaNode, path: string, sections: string[], without?: readonly string[]) => void;

const INTRODUCTION = `## Presets

A preset is enabled by its name in \`hooks.presets\`, or named by a mapping as its \`preset\`. Its settings are in a block of its name beside the keys above:

\`\`\`json5
{
  hooks: {
    presets: ["github"],
    github: { secret: { env: "GITHUB_WEBHOOK_SECRET" } },
  },
}
\`\`\`

\`reveille presets show <preset>\` tells what to paste where in the sender's settings. A block that no enabled preset and no mapping uses gives a warning.
`;

const DESCRIBED_ABOVE = ["auth", "handshakes", "transform", "coalesce", "retry", "fallback", "budget", "respond"];

/** The part of the configuration's reference that tells of presets. */
export function presetReference(describe: Describe): string {
  const sections: string[] = [INTRODUCTION];
  describe(withoutDefaults(plain(PresetBlockSchema)), "hooks.<preset>", sections, DESCRIBED_ABOVE);
  sections.push(
    "`auth`, `handshakes` and `transform` are written as [in a mapping](#hooksmappings). Further settings are those of single presets:\n",
  );
  const presets = BUILT_IN_PRESETS.toSorted((left, right) => (left.name < right.name ? -1 : 1));
  sections.push([...HEAD, ...presets.map(row), ""].join("\n"));
  for (const preset of presets) {
    const declared = declaredSettings(preset);
    if (declared === undefined || !isPresetKey(preset.name)) continue;
    const node = { ...plain(writtenSettings(preset)), required: declared.required ?? [] };
    describe(
      { ...node, description: `What ${preset.title} needs besides the keys that all presets have.` },
      `hooks.${preset.name}`,
      sections,
    );
  }
  return sections.join("\n");
}

const HEAD = [
  "<!-- prettier-ignore -->",
  "| preset | sender | `secret` is what the sender calls | further settings |",
  "|---|---|---|---|",
];

function row(preset: Preset): string {
  const { name, title, secret } = preset;
  const label = secret === undefined ? "not needed" : `"${secret.label}"`;
  const keys = Object.keys(preset.settings?.properties ?? {}).map((key) => `\`${key}\``);
  const settings = isPresetKey(name) ? keys.join(", ") : `[its own block](#hooks${name})`;
  const cells = [
    `\`${name}\``,
    title,
    secret?.required === false ? `${label}, if it is known beforehand` : label,
    settings,
  ];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}
