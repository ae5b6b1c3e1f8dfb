/** Stack traces of the bundle name the lines of the sources; its maps hold no columns. */
import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const POSITION = /(?<url>file:\/\/[^\s()]+\.js):(?<line>\d+):(?<column>\d+)/gu;
/** By the URL of a file; `undefined` when it has no map. There are as many as the bundle has files. */
const maps = new Map<string, SourceMap | undefined>();

/**
 * Translates the positions in every stack trace of this process from now on.
 *
 * Node's own `--enable-source-maps` reads all maps at the start, which costs 32 MiB. This reads the map of a file
 * when a stack trace that names the file is first read.
 */
export function translateStackTraces(): void {
  Error.prepareStackTrace = (error, frames) => [headline(error), ...frames.map(sourceLine)].join("\n");
}

function headline(error: Error): string {
  try {
    return String(error);
  } catch {
    return "Error";
  }
}

function sourceLine(frame: { toString(): string }): string {
  const text = frame.toString().replaceAll(POSITION, (position, url: string, line: string, column: string) => {
    const entry = mapOf(url)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (entry === undefined || !("originalSource" in entry)) return position;
    const file = relative(process.cwd(), resolve(dirname(fileURLToPath(url)), entry.originalSource));
    return `${file}:${entry.originalLine + 1}`;
  });
  return `    at ${text}`;
}

function mapOf(url: string): SourceMap | undefined {
  if (maps.has(url)) return maps.get(url);
  const file = `${fileURLToPath(url)}.map`;
  const map = existsSync(file)
    ? new SourceMap(JSON.parse(readFileSync(file, "utf8")) as ConstructorParameters<typeof SourceMap>[0])
    : undefined;
  maps.set(url, map);
  return map;
}
