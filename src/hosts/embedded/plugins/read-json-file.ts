import { readFileSync } from "node:fs";
import JSON5 from "json5";
import { PluginError } from "./error.ts";

/** Reads a JSON file; throws a {@link PluginError} that tells where it stops being JSON. */
export function readJsonFile(file: string): unknown {
  let text: string;
  try {
    // Editors of some systems begin every file with a byte order mark.
    text = readFileSync(file, "utf8").replace(/^\uFEFF/u, "");
  } catch (error) {
    throw new PluginError(`${file} cannot be read: ${String(error)}`);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new PluginError(wordError(file, text, error));
  }
}

/** JSON.parse tells the place of some errors only, and the reader of JSON5 that of all. */
function wordError(file: string, text: string, error: unknown): string {
  try {
    JSON5.parse(text);
  } catch (place) {
    const { lineNumber, columnNumber, message } = place as {
      lineNumber: number;
      columnNumber: number;
      message: string;
    };
    const reason = message.replace(/^JSON5: /, "").replace(/ at \d+:\d+$/, "");
    return `${file}:${lineNumber}:${columnNumber}: not JSON: ${reason}`;
  }
  const [, line, column] = /\(line (\d+) column (\d+)\)/.exec(String(error)) ?? [];
  const where = line === undefined ? file : `${file}:${line}:${column}`;
  return `${where}: not JSON: comments, single quotes, unquoted keys and commas at an end are not allowed`;
}
