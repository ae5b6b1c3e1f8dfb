/** `${NAME}` in OpenClaw's configuration: replaced in every string, when the host reads the file. */
import { randomBytes } from "node:crypto";
import { isFields } from "../fields.ts";
import type { Fields } from "../fields.ts";

const REFERENCE = /(\$?)\$\{([A-Z_][A-Z0-9_]*)\}/g;
/** The same, or any other beginning of one. */
const BEGINNING = /(\$?)\$\{([A-Z_][A-Z0-9_]*)\}|\$\{/g;
const BARE = /^(?:\$\{[A-Z_][A-Z0-9_]*\})+$/;
const MAX_DEPTH = 64;

type Environment = Readonly<Record<string, string | undefined>>;

/** A configuration as the host would read it here. */
export interface ReadReferences {
  readonly value: unknown;
  /** One string of it, read in the same way. */
  resolve(text: string): string;
  /** Names that have no value here; something that no one can guess is in their place. */
  readonly missing: readonly string[];
}

/** Replaces the references of a configuration. The process comes before the file's own `env`; `$${NAME}` stays `${NAME}`. */
export function readReferences(config: Fields, env: Environment): ReadReferences {
  const known: Environment = { ...variablesOf(config), ...withoutEmpty(env) };
  const missing = new Map<string, string>();
  const replace = (text: string): string =>
    text.replaceAll(REFERENCE, (_, escape: string, name: string) => {
      if (escape !== "") return `\${${name}}`;
      const value = Object.hasOwn(known, name) ? known[name] : undefined;
      if (value !== undefined) return value;
      const standIn = missing.get(name) ?? `unset-${randomBytes(24).toString("hex")}`;
      missing.set(name, standIn);
      return standIn;
    });
  const value = mapStrings(config, replace);
  return { value, resolve: replace, missing: [...missing.keys()] };
}

/** True for a string that holds a reference. */
export function hasReference(text: string): boolean {
  return [...text.matchAll(REFERENCE)].some(([, escape]) => escape === "");
}

/** True for a string of references and nothing else, which may be shown. */
export function isBareReference(text: string): boolean {
  return BARE.test(text.trim());
}

/** The names that the strings of a value refer to. */
export function referencedNames(value: unknown): readonly string[] {
  const names = new Set<string>();
  mapStrings(value, (text) => {
    for (const [, escape, name = ""] of text.matchAll(REFERENCE)) if (escape === "") names.add(name);
    return text;
  });
  return [...names];
}

/** The same texts for the embedded gateway, to which any `${` begins a reference unless it is escaped. */
export function escapeOthers(value: unknown): unknown {
  return mapStrings(value, (text) =>
    text.replaceAll(BEGINNING, (whole, _escape, name?: string) => (name === undefined ? `$${whole}` : whole)),
  );
}

function mapStrings(value: unknown, replace: (text: string) => string, depth = 0): unknown {
  if (typeof value === "string") return value.includes("${") ? replace(value) : value;
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, replace, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapStrings(item, replace, depth + 1)]));
}

/** The variables that the file itself sets: `env.NAME` and `env.vars.NAME`. */
function variablesOf(config: Fields): Environment {
  const { env } = config;
  if (!isFields(env)) return {};
  const vars = isFields(env["vars"]) ? env["vars"] : {};
  const entries = [...Object.entries(vars), ...Object.entries(env)];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => isSet(entry[1])));
}

function withoutEmpty(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => isSet(value)));
}

function isSet(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
