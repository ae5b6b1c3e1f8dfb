/** `reveille transform new`. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { qualifyKeys } from "../../config/qualify-keys.ts";
import { BUILT_IN_PRESETS } from "../../presets/built-in.ts";
import type { Preset } from "../../presets/preset.ts";
import { containedPath } from "../../transform/loader/containment.ts";
import { CliError } from "../errors.ts";
import { type CliIo, warningsOnly } from "../io.ts";
import { configWords, type LocationOptions } from "../file-locations.ts";
import { presetNamed } from "../presets-command.ts";
import { readTransformConfiguration } from "./configuration.ts";
import { DECLARATIONS, DECLARATIONS_MARK, TSCONFIG } from "./declarations.ts";
import { transformStarter } from "./starter.ts";

export interface TransformNewOptions extends LocationOptions {
  /** JavaScript instead of TypeScript. */
  readonly js?: boolean;
  readonly preset?: string;
  readonly json?: boolean;
}

interface Place {
  readonly transformsDir: string;
  readonly presets: ReadonlyMap<string, Preset>;
}

const NAME = /^[A-Za-z0-9][\w-]{0,99}(?:\/[A-Za-z0-9][\w-]{0,99}){0,5}$/u;
/** TypeScript takes `reveille.d.ts` for the output of `reveille.ts`. */
const TAKEN_NAME = "reveille";

/** Writes a transform to begin with, and prints the next steps. Replaces no file that an owner wrote. */
export async function newTransform(name: string, options: TransformNewOptions, io: CliIo): Promise<void> {
  if (!NAME.test(name) || name === TAKEN_NAME) {
    throw new CliError(
      `"${name}" cannot be the name of a transform: write letters, digits, "-" and "_" without an extension, such as deploy or team/deploy.`,
    );
  }
  const { transformsDir, presets } = await placeOf(options, io);
  const preset = options.preset === undefined ? undefined : presetNamed(presets, options.preset);
  const module = `${name}.${options.js === true ? "js" : "ts"}`;
  const file = join(transformsDir, module);
  const found = containedPath(transformsDir, module);
  if (!found.ok) throw new CliError(`${file} ${found.reason}; a transform is a file inside of ${transformsDir}.`);
  mkdirSync(dirname(file), { recursive: true });
  create(file, transformStarter({ name, isJavaScript: options.js === true, preset }));
  const forEditors = writeForEditors(transformsDir);
  const steps = nextSteps(name, module, { preset, options, program: io.gateway.program });
  if (options.json === true) {
    const document = { file, module, add: steps.entry, try: steps.tryIt };
    io.out(`${qualifyKeys(JSON.stringify(document, undefined, 2), io.gateway.block)}\n`);
    return;
  }
  const next = [steps.where, "", `  ${steps.entry}`, "", "Try it, with or without that:", "", `  ${steps.tryIt}`];
  const lines = [`Written: ${file}`, ...forEditors, "", ...next];
  io.out(`${qualifyKeys(lines.join("\n"), io.gateway.block)}\n`);
}

/** As the configuration says, or where it would be without one. */
async function placeOf(options: LocationOptions, io: CliIo): Promise<Place> {
  if (!io.gateway.isConfigured(options)) {
    return {
      transformsDir: join(dirname(io.gateway.locate(options).configFile), "hooks", "transforms"),
      presets: new Map(BUILT_IN_PRESETS.map((preset) => [preset.name, preset])),
    };
  }
  const read = await readTransformConfiguration(options, { io, logger: warningsOnly(await io.createLogger()) });
  await read.close();
  const { config, presets } = read;
  return { transformsDir: config.transformsDir, presets };
}

function create(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: "wx" });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    throw new CliError(`${file} exists already; nothing was written. Choose another name.`);
  }
}

/** Tells what it wrote. */
function writeForEditors(folder: string): readonly string[] {
  const declarations = join(folder, "reveille.d.ts");
  const tsconfig = join(folder, "tsconfig.json");
  const lines: string[] = [];
  const written = existsSync(declarations) ? readFileSync(declarations, "utf8") : undefined;
  if (written === undefined || (written.startsWith(DECLARATIONS_MARK) && written !== DECLARATIONS)) {
    writeFileSync(declarations, DECLARATIONS);
    lines.push(`Written: ${declarations} (the types, for editors)`);
  }
  if (!existsSync(tsconfig)) {
    writeFileSync(tsconfig, TSCONFIG, { flag: "wx" });
    lines.push(`Written: ${tsconfig} (how editors find them)`);
  }
  return lines;
}

interface NextSteps {
  readonly where: string;
  /** The part to add to the configuration. */
  readonly entry: string;
  /** The command. */
  readonly tryIt: string;
}

function nextSteps(
  name: string,
  module: string,
  {
    preset,
    options,
    program,
  }: { readonly preset: Preset | undefined; readonly options: LocationOptions; readonly program: string },
): NextSteps {
  const test = `${program} transform test ${module}${configWords(options)}`;
  if (preset === undefined) {
    return {
      where: "Add to hooks.mappings in the configuration:",
      entry: `{ match: { path: "${name}" }, name: "${name}", transform: { module: "${module}" } },`,
      tryIt: `echo '{"title":"Deploy","text":"It works."}' | ${test} --payload -`,
    };
  }
  const [sample] = Object.keys(preset.samples);
  const key = PLAIN_KEY.test(preset.name) ? preset.name : `"${preset.name}"`;
  return {
    where: `Add to the preset's block in the configuration (for the other keys see: ${program} presets show ${preset.name}):`,
    entry: `hooks: { ${key}: { transform: { module: "${module}" } } }`,
    tryIt: `${test} --preset ${preset.name} --sample ${sample}`,
  };
}

const PLAIN_KEY = /^[a-z]+$/u;
