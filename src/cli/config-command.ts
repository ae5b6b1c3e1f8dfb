/** `reveille config`: reads and edits the configuration file. */
import JSON5 from "json5";
import { KEYS_AT_NEXT_START } from "../hosts/embedded/config/reload.ts";
import { GatewaySchema } from "../hosts/embedded/config/schema.ts";
import { ConfigError } from "../config/errors.ts";
import { ConfigFile, parsePath, showPath } from "./config-file.ts";
import { CliError } from "./errors.ts";
import type { LocationOptions } from "./file-locations.ts";
import type { CliIo } from "./io.ts";
import { manifestSchema } from "./manifest-schema.ts";
import { plain } from "./plain-schema.ts";
import { printable } from "./terminal-text.ts";

export interface ConfigOptions extends LocationOptions {
  readonly json?: boolean;
}

/** Prints what the file has at a path, as it is written there: without defaults, variables and other files. */
export function getConfig(path: string, { json = false, ...options }: ConfigOptions, io: CliIo): void {
  const { configFile } = io.gateway.locate(options);
  const value = ConfigFile.read(configFile).get(parsePath(path));
  if (value === undefined) throw new CliError(`${configFile} has no ${path}.`);
  io.out(`${json || typeof value !== "string" ? JSON.stringify(value, undefined, 2) : value}\n`);
}

/** Writes a value, when the file is valid with it. What is no JSON5 is a text, and so is a number where one belongs. */
export async function setConfig(path: string, text: string, options: ConfigOptions, io: CliIo): Promise<void> {
  const set = (value: unknown): Promise<void> =>
    change(path, options, io, (file) => {
      file.set(parsePath(path), value);
      return `${path} is set.`;
    });
  const value = valueOf(text);
  try {
    await set(value);
  } catch (error) {
    if (!(error instanceof ConfigError) || typeof value !== "number") throw error;
    // The number of a chat is a text. Where the text is refused too, the number was meant.
    await set(text).catch((second: unknown) => {
      throw second instanceof ConfigError ? error : second;
    });
  }
}

/** Removes a value, when the file is valid without it. */
export async function unsetConfig(path: string, options: ConfigOptions, io: CliIo): Promise<void> {
  await change(path, options, io, (file) => {
    if (!file.delete(parsePath(path))) throw new CliError(`The file has no ${path}.`);
    return `${path} is removed.`;
  });
}

/** Prints the JSON Schema of the file, for editors. */
export function printSchema(io: CliIo): void {
  io.out(`${JSON.stringify(fileSchema(), undefined, 2)}\n`);
}

/** The JSON Schema of the whole file, the `hooks` block included. */
export function fileSchema(): object {
  const { $schema, $defs, ...hooks } = manifestSchema() as Record<"$schema" | "$defs", unknown>;
  const { properties, ...file } = plain(GatewaySchema);
  return { $schema, ...file, properties: { ...properties, hooks }, $defs };
}

async function change(
  path: string,
  { json = false, ...options }: ConfigOptions,
  io: CliIo,
  edit: (file: ConfigFile) => string,
): Promise<void> {
  const { configFile } = io.gateway.locate(options);
  const file = ConfigFile.read(configFile);
  const done = edit(file);
  for (const message of await file.save(io)) io.err(`warning  ${printable(message)}\n`);
  io.out(
    json
      ? `${JSON.stringify({ file: configFile, changed: true })}\n`
      : `${done} ${whenTaken(showPath(parsePath(path)))}\n`,
  );
}

/** A gateway that runs refuses another store, and keeps what it has until its next start. */
const WAITING = [...KEYS_AT_NEXT_START, "hooks.store"];

/** When a gateway that runs takes what was written at a path, which may hold keys that wait for the next start. */
function whenTaken(path: string): string {
  if (WAITING.some((key) => path === key || path.startsWith(`${key}.`) || path.startsWith(`${key}[`))) {
    return "It takes effect at the next start.";
  }
  const waiting = WAITING.filter((key) => key.startsWith(`${path}.`));
  if (waiting.length === 0) return "A gateway that runs takes it at once.";
  return `A gateway that runs takes it at once, except ${waiting.join(" and ")}, which take effect at the next start.`;
}

/** What a text is as JSON5, or the text itself. */
export function valueOf(text: string): unknown {
  try {
    return JSON5.parse<unknown>(text);
  } catch {
    return text;
  }
}
