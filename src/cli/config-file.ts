/** The configuration file as commands edit it: comments, order and layout stay. */
import { lstatSync, lutimesSync, rmSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { JsonArrayNode, JsonObjectNode, JsonParser, type JsonValueNode } from "@croct/json5-parser";
import { ConfigError, configLines } from "../config/errors.ts";
import { reasonOf } from "../core/reason-of.ts";
import { repeatedKeys } from "../hosts/embedded/config/json5-tokens.ts";
import { parseText, readText } from "../hosts/embedded/config/read.ts";
import { setAsideFindings } from "./doctor-gateway.ts";
import { untilSignal } from "./end-signals.ts";
import { CliError, Interrupted } from "./errors.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { type CliIo, warningsOnly } from "./io.ts";
import { respell } from "./json5-spelling.ts";
import { loadConfiguration, type LoadOptions } from "./load-configuration.ts";
import { replaceFile } from "./replace-file.ts";

/** `hooks.mappings[0].name`, in parts. */
export type ConfigPath = readonly (string | number)[];

type Value = Parameters<JsonObjectNode["set"]>[1];

/** The file of the embedded gateway, read once and written as a whole. */
export class ConfigFile {
  readonly #file: string;
  /** The text that was read. */
  readonly #before: string;
  readonly #restoreSpelling: (edited: string) => string;
  #root: JsonObjectNode;

  private constructor(file: string, before: string) {
    this.#file = file;
    this.#before = before;
    const { text, restore } = respell(before);
    this.#restoreSpelling = restore;
    this.#root = JsonParser.parse(text, JsonObjectNode);
  }

  /**
   * Throws a {@link ConfigError} or a {@link CliError} for a file that is not there, is no object, or has a key twice,
   * since an edit of one of them may be without effect.
   */
  static read(file: string): ConfigFile {
    const text = readText(file);
    parseText(text, file);
    const [repeated] = repeatedKeys(text);
    if (repeated !== undefined) {
      throw new CliError(
        `${file} has ${showPath(repeated)} twice, and a gateway takes the last one alone. Make one of both, then run the command again.`,
      );
    }
    try {
      return new ConfigFile(file, text);
    } catch (error) {
      throw new CliError(`${file} cannot be edited: ${reasonOf(error)}`);
    }
  }

  /** The file as it would be saved. */
  get text(): string {
    return this.#restoreSpelling(this.#root.toString());
  }

  /** The value there as it is written; `undefined`: none. */
  get(path: ConfigPath): unknown {
    return nodeAt(this.#root, path)?.toJSON();
  }

  /** Writes a value, with the objects on the way to it. */
  set(path: ConfigPath, value: unknown): void {
    const [last = "", ...before] = path.toReversed();
    let parent: JsonValueNode = this.#root;
    for (const [at, key] of before.toReversed().entries()) {
      const isList = typeof path[at + 1] === "number";
      if (nodeAt(parent, [key]) === undefined) setChild(parent, key, isList ? [] : {}, path);
      parent = nodeAt(parent, [key])!;
    }
    setChild(parent, last, value as Value, path);
  }

  /** Removes a value; false when there is none. */
  delete(path: ConfigPath): boolean {
    // What was edited has no place in a text yet, and is spelled like its neighbors.
    const { text } = respell(this.#root.toString());
    const root = JsonParser.parse(text, JsonObjectNode);
    const parent = nodeAt(root, path.slice(0, -1));
    const value = nodeAt(root, path);
    if (value === undefined) return false;
    const written = parent instanceof JsonObjectNode ? parent.properties.find((each) => each.value === value) : value;
    this.#root = JsonParser.parse(without(text, written!.location), JsonObjectNode);
    return true;
  }

  /** Adds a value to a list, which is made where it is missing; false when the list has it. */
  addTo(path: ConfigPath, value: string): boolean {
    const list = nodeAt(this.#root, path);
    if (list === undefined) this.set(path, [value]);
    else if (!(list instanceof JsonArrayNode)) throw new CliError(`${showPath(path)} is not a list.`);
    else if (list.elements.some((each) => each.toJSON() === value)) return false;
    else list.push(value);
    return true;
  }

  /** Removes a value from a list, and a list that is then empty. */
  removeFrom(path: ConfigPath, value: unknown): void {
    const list = nodeAt(this.#root, path);
    if (!(list instanceof JsonArrayNode)) return;
    const at = list.elements.findIndex((each) => isDeepStrictEqual(each.toJSON(), value));
    if (at === -1) return;
    if (list.elements.length === 1) this.delete(path);
    else this.delete([...path, at]);
  }

  /**
   * Checks the edited file as a start would, and puts it in the place of the old one. Rejects and leaves the old one:
   * with a {@link ConfigError} where the new one is not valid, with a {@link CliError} where another program has
   * changed the old one since it was read, with {@link Interrupted} at a signal. Resolves with what is set aside with
   * the new one, and was not with the old one.
   */
  async save(io: CliIo): Promise<readonly string[]> {
    return this.#whenValid(io, (after) => {
      replaceFile(this.#file, { before: this.#before, after });
      this.#touchLink();
    });
  }

  /** Rejects where the edited file is not valid, and writes nothing. */
  async check(io: CliIo): Promise<void> {
    await this.#whenValid(io, () => {});
  }

  async #whenValid(io: CliIo, use: (text: string) => void): Promise<readonly string[]> {
    const { text } = this;
    let aside: readonly string[] = [];
    // Beside the file as it is named, since paths in it are relative to that folder, also where a link is there.
    const draft = `${this.#file}.${process.pid}.tmp`;
    rmSync(draft, { force: true });
    writeFileSync(draft, text, { flag: "wx", mode: 0o600 });
    try {
      const code = await untilSignal(io, async (signal) => {
        const logger = warningsOnly(await io.createLogger());
        const load = { gateway: io.gateway, logger, signal };
        aside = await asideIn(draft, load);
        if (aside.length > 0) {
          const before = await asideIn(this.#file, load).catch((): readonly string[] => []);
          aside = aside.filter((each) => !before.includes(each));
        }
        signal.throwIfAborted();
        use(text);
        return EXIT_CODES.success;
      });
      if (code !== EXIT_CODES.success) throw new Interrupted(code);
      return aside;
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const issues = error.issues.map(({ path, message }) => ({ path: path.replace(draft, this.#file), message }));
      throw new ConfigError(issues);
    } finally {
      rmSync(draft, { force: true });
    }
  }

  /** A gateway watches the folder that it was told, and would not see that a file elsewhere was replaced. */
  #touchLink(): void {
    const now = new Date();
    try {
      if (lstatSync(this.#file).isSymbolicLink()) lutimesSync(this.#file, now, now);
    } catch {
      // A link of another user: the gateway watches the file behind it as well.
    }
  }
}

async function asideIn(config: string, load: LoadOptions): Promise<readonly string[]> {
  const loaded = await loadConfiguration({ config }, load);
  return [...configLines(loaded.warnings), ...setAsideFindings(loaded).map(({ message }) => message)];
}

/** The comma behind a value; comments may be in between. */
const COMMA = /(?<![^])((?:\s|\/\/.*$|\/\*(?:[^*]|\*(?!\/))*\*\/)*),/mu;

/** The library would take comments beside it away as well. */
function without(text: string, { start, end }: JsonValueNode["location"]): string {
  // The library counts characters, and not the halves of which some are made.
  const characters = Array.from(text);
  const before = characters.slice(0, start.index).join("");
  const after = characters.slice(end.index).join("").replace(COMMA, "$1");
  const isAlone = /(?:^|\n)[^\S\n]*$/u.test(before) && /^[^\S\n]*\n/u.test(after);
  return isAlone ? before.replace(/[^\S\n]*$/u, "") + after.replace(/^[^\S\n]*\n/u, "") : before + after;
}

const PART = /\[(\d{1,9})\]|\["([^"\]]{1,200})"\]|\.?([^.[\]"]{1,200})/uy;

/** Reads a path as messages show it. Throws a {@link CliError}. */
export function parsePath(text: string): ConfigPath {
  const path: (string | number)[] = [];
  PART.lastIndex = 0;
  while (PART.lastIndex < text.length) {
    const [, index, quoted, key] = PART.exec(text) ?? [];
    const part = index === undefined ? (quoted ?? key) : Number(index);
    if (part === undefined) throw new CliError(`"${text}" is no path; write for example hooks.mappings[0].name`);
    path.push(part);
  }
  if (path.length === 0) throw new CliError("The path is empty; write for example gateway.port");
  return path;
}

export function showPath(path: ConfigPath): string {
  return path.map((part, at) => (typeof part === "number" ? `[${part}]` : `${at === 0 ? "" : "."}${part}`)).join("");
}

function nodeAt(from: JsonValueNode, path: ConfigPath): JsonValueNode | undefined {
  let node: JsonValueNode = from;
  for (const key of path) {
    if (node instanceof JsonObjectNode && node.has(String(key))) node = node.get(String(key));
    else if (node instanceof JsonArrayNode && typeof key === "number" && key < node.elements.length) {
      node = node.get(key);
    } else return undefined;
  }
  return node;
}

function setChild(parent: JsonValueNode, key: string | number, value: Value, path: ConfigPath): void {
  if (parent instanceof JsonObjectNode && typeof key === "string") parent.set(key, value);
  else if (parent instanceof JsonArrayNode && typeof key === "number" && key <= parent.elements.length) {
    if (key === parent.elements.length) parent.push(value);
    else parent.set(key, value);
  } else throw new CliError(`There is no place ${showPath(path)} in the configuration.`);
}
