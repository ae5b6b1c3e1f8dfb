/** `reveille presets`. */
import { dirname, join } from "node:path";
import { configLines, ConfigError } from "../config/errors.ts";
import type { MappingConfig } from "../config/mapping/schema.ts";
import { qualifyKeys } from "../config/qualify-keys.ts";
import { BUILT_IN_PRESETS } from "../presets/built-in.ts";
import { type Preset, schemeName } from "../presets/preset.ts";
import { CliError } from "./errors.ts";
import { type CliIo, warningsOnly } from "./io.ts";
import type { LocationOptions } from "./file-locations.ts";
import { loadConfiguration, type LoadedConfiguration } from "./load-configuration.ts";
import { printable } from "./terminal-text.ts";

export interface PresetsOptions extends LocationOptions {
  readonly json?: boolean;
}

/** Lists the presets: what each is for, how its sender proves who it is, and where it is in use. */
export async function listPresets(options: PresetsOptions, io: CliIo): Promise<void> {
  const { presets, loaded } = await presetsToShow(options, io);
  const rows = [...presets.values()]
    .toSorted((left, right) => (left.name < right.name ? -1 : 1))
    .map((preset) => ({
      name: preset.name,
      title: preset.title,
      scheme: schemeName(preset),
      paths: mappingsOf(preset, loaded).map(({ match }) => match.path ?? ""),
      senders: namedSenders(preset, loaded),
    }));
  if (options.json === true) {
    io.out(`${JSON.stringify(rows, undefined, 2)}\n`);
    return;
  }
  const width = Math.max(...rows.map(({ name }) => name.length));
  const titleWidth = Math.max(...rows.map(({ title }) => title.length));
  for (const { name, title, scheme, paths, senders } of rows) {
    const named = senders.length === 0 ? "" : ` (${senders.join(", ")})`;
    const used = paths.length === 0 ? "" : `  in use: ${paths.map((path) => `/${path}`).join(", ")}${named}`;
    io.out(`${name.padEnd(width)}  ${title.padEnd(titleWidth)}  ${scheme}${used}\n`);
  }
  io.out(`\n${io.gateway.program} presets show <name> prints the setup steps.\n`);
}

/** Prints what to write in the configuration, and what to paste where in the sender's settings. */
export async function showPreset(name: string, options: PresetsOptions, io: CliIo): Promise<void> {
  const { presets, loaded } = await presetsToShow(options, io);
  const sender = senderNamed(loaded, name);
  const preset = presetNamed(presets, sender?.preset ?? name);
  const mappings = sender ? [sender] : mappingsOf(preset, loaded);
  const [mapping] = mappings;
  const where = { loaded, defaultPath: io.gateway.defaultPath };
  const url = urlOf(mapping?.match.path ?? preset.name, where);
  const tryIt = `${io.gateway.program} send ${sender?.sender ?? preset.name} ${Object.keys(preset.samples)[0]}`;
  if (options.json === true) {
    const document = {
      name: preset.name,
      title: preset.title,
      documentation: preset.documentation,
      scheme: schemeName(preset),
      event: preset.eventSource ?? null,
      deliveryId: deliveryIdOf(preset),
      handshakes: preset.handshakes.map((handshake) => handshake.name),
      samples: Object.keys(preset.samples),
      uses: mappings.map((each) => ({ sender: each.sender ?? preset.name, url: urlOf(each.match.path ?? "", where) })),
      configuration: configOf(preset).join("\n"),
      setup: preset.setup.map((step) => stepText(step, preset, url)),
      try: tryIt,
    };
    io.out(`${qualifyKeys(JSON.stringify(document, undefined, 2), io.gateway.block)}\n`);
    return;
  }
  const lines = [
    `${preset.title} (${preset.name})`,
    preset.documentation,
    "",
    `Proves who it is by: ${schemeName(preset)}`,
    `Event:               ${preset.eventSource ?? "not named"}`,
    `Delivery id:         ${deliveryIdOf(preset)}`,
    `Handshake:           ${preset.handshakes.map((handshake) => handshake.name).join(", ") || "none"}`,
    `Samples:             ${Object.keys(preset.samples).join(", ")}`,
    "",
    ...(mapping
      ? mappings.map((each) => `It is in use ${placeOfSender(each)}under ${urlOf(each.match.path ?? "", where)}`)
      : [
          `In the configuration${placeOf(io.gateway.block)}:`,
          ...configOf(preset),
          ...secretFileHint(preset, dirname(io.gateway.locate(options).configFile)),
        ]),
    "",
    `At ${preset.title}:`,
    ...preset.setup.map((step, at) => `  ${at + 1}. ${stepText(step, preset, url)}`),
    "",
    `Try it: ${tryIt}`,
  ];
  io.out(`${qualifyKeys(lines.join("\n"), io.gateway.block)}\n`);
}

function mappingsOf({ name }: Pick<Preset, "name">, loaded: LoadedConfiguration | undefined): readonly MappingConfig[] {
  return loaded?.active.config.mappings.filter((mapping) => mapping.preset === name) ?? [];
}

/** Names the sender where it is not its preset's: `as org-one `. */
function placeOfSender({ preset, sender }: MappingConfig): string {
  return sender === undefined || sender === preset ? "" : `as ${sender} `;
}

function namedSenders({ name }: Pick<Preset, "name">, loaded: LoadedConfiguration | undefined): readonly string[] {
  return mappingsOf({ name }, loaded).flatMap(({ sender }) =>
    sender === undefined || sender === name ? [] : [sender],
  );
}

/** The mapping of the sender of that name; a preset's name is that of its own sender. */
export function senderNamed(loaded: LoadedConfiguration | undefined, name: string): MappingConfig | undefined {
  const mappings = loaded?.active.config.mappings.filter(({ sender }) => sender === name) ?? [];
  return mappings.find(({ where }) => !where.startsWith("hooks.mappings[") && where !== `hooks.${name}`);
}

/** The example is of a block that is called `hooks`. */
function placeOf(block: string): string {
  return block === "hooks" ? "" : `, with ${block} in the place of hooks`;
}

/** The URL that the sender calls at a path below the prefix, as far as the configuration says it. */
export function urlOf(
  path: string,
  { loaded, defaultPath }: { readonly loaded: LoadedConfiguration | undefined; readonly defaultPath: string },
): string {
  const config = loaded?.active.config;
  return `${config?.publicUrl ?? "https://<your gateway>"}${config?.path ?? defaultPath}/${path}`;
}

function deliveryIdOf({ deliveryIdSource, deliveryIdSigned }: Preset): string {
  if (deliveryIdSource === undefined) return "none";
  return `${deliveryIdSource}${deliveryIdSigned ? "" : " (not covered by the signature)"}`;
}

function configOf({ name, secret, settings }: Preset): string[] {
  const required = settings?.required ?? [];
  const keys = [
    ...(secret ? [`secret: { file: "${secretFile(name)}" }`] : []),
    ...required.map((key) => `${key}: "..."`),
  ];
  const key = /^[a-z]+$/u.test(name) ? name : `"${name}"`;
  const block = keys.length === 0 ? [] : [`    ${key}: { ${keys.join(", ")} },`];
  return ["  hooks: {", `    presets: ["${name}"],`, ...block, "  }"];
}

/** A file takes effect with the configuration; a variable has to be set before the gateway starts. */
function secretFileHint({ name, secret }: Preset, folder: string): string[] {
  if (!secret) return [];
  return [
    `  The file holds only the ${secret.label}: ${join(folder, secretFile(name))}, readable by you alone (chmod 600).`,
    `  Or write { env: "NAME" }, and set the variable before the gateway starts.`,
  ];
}

/** The file of a sender's secret, beside the configuration. */
export function secretFile(name: string): string {
  return `${name}-secret`;
}

/** A step in the sender's settings, in the words of this gateway. */
export function stepText(step: string, { secret }: Preset, url: string): string {
  return step.replaceAll("{url}", url).replaceAll("{secret}", secret?.label ?? "secret");
}

export interface KnownPresets {
  readonly presets: ReadonlyMap<string, Preset>;
  /** Absent when there is no configuration. */
  readonly loaded: LoadedConfiguration | undefined;
}

const builtIn = (): KnownPresets => ({
  presets: new Map(BUILT_IN_PRESETS.map((preset) => [preset.name, preset])),
  loaded: undefined,
});

/** The output also helps to write the configuration, so it needs no valid one. */
async function presetsToShow(options: LocationOptions, io: CliIo): Promise<KnownPresets> {
  try {
    return await knownPresets(options, io);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    io.err("The configuration is not valid, so these are the built-in presets, without what is set in it:\n");
    for (const line of configLines(error.issues)) io.err(`  ${printable(qualifyKeys(line, io.gateway.block))}\n`);
    io.err("\n");
    return builtIn();
  }
}

/** Rejects with a `ConfigError` when there is a configuration and it is not valid. */
export async function knownPresets(options: LocationOptions, io: CliIo): Promise<KnownPresets> {
  if (!io.gateway.isConfigured(options)) return builtIn();
  const loaded = await loadConfiguration(options, {
    gateway: io.gateway,
    logger: warningsOnly(await io.createLogger()),
  });
  return { presets: loaded.active.presets, loaded };
}

/** The preset of that name, or an error that says which there are. */
export function presetNamed(presets: ReadonlyMap<string, Preset>, name: string): Preset {
  const preset = presets.get(name);
  if (preset) return preset;
  throw new CliError(`There is no preset "${name}". There are: ${[...presets.keys()].toSorted().join(", ")}.`);
}
