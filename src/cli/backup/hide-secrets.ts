/** The configuration without the secrets that are written into it. */
import { type ConfigFile, type ConfigPath, showPath } from "../config-file.ts";
import { fileSchema } from "../config-command.ts";
import type { LeftOut } from "./manifest.ts";

/** The parts of a JSON schema that say where secrets are. */
interface Node {
  readonly writeOnly?: boolean;
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly patternProperties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: boolean | Node;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
  readonly oneOf?: readonly Node[];
}

/** Where no schema says it, as in the block of a preset that a plugin brings. */
const SECRET_NAME = /secret|token|passw|credential|api_?key|private_?key|signing_?key/iu;
const NO_SECRET_NAME = /header|^max|^token(?:s|Url)$|public/iu;
const MIN_SEARCHED = 8;
const REFERENCE = /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/u;

export interface HiddenConfig {
  readonly text: string;
  readonly leftOut: readonly LeftOut[];
}

/** Puts a variable in the place of each secret that is written; comments and layout stay. */
export function hideSecrets(file: ConfigFile): HiddenConfig {
  const schema = fileSchema() as Node & { readonly $defs?: Readonly<Record<string, Node>> };
  const found = secretsIn(file.get([]), { nodes: [schema], defs: schema.$defs ?? {}, path: [], isSecret: false });
  const leftOut = found.map(({ path }) => ({ path: showPath(path), from: variableOf(path) }));
  for (const { path } of found) file.set(path, `\${${variableOf(path)}}`);
  let text = file.text;
  // One may be in a comment as well.
  for (const { value } of found) if (value.length >= MIN_SEARCHED) text = text.replaceAll(value, "");
  return { text, leftOut };
}

interface Walk {
  /** What may describe the value; empty: nothing does. */
  readonly nodes: readonly Node[];
  readonly defs: Readonly<Record<string, Node>>;
  readonly path: ConfigPath;
  readonly isSecret: boolean;
}

function secretsIn(value: unknown, walk: Walk): { readonly path: ConfigPath; readonly value: string }[] {
  const { path, defs } = walk;
  const nodes = walk.nodes.flatMap((node) => branches(node, defs));
  const isSecret = walk.isSecret || nodes.some(({ writeOnly }) => writeOnly === true);
  if (typeof value === "string") return isSecret && value !== "" && !REFERENCE.test(value) ? [{ path, value }] : [];
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) {
    const items = nodes.flatMap(({ items }) => items ?? []);
    return value.flatMap((each, at) => secretsIn(each, { nodes: items, defs, path: [...path, at], isSecret }));
  }
  return Object.entries(value).flatMap(([key, each]) => {
    // `{ env }` and `{ file }` name a secret.
    if (isSecret && (key === "env" || key === "file")) return [];
    const below = nodes.flatMap((node) => childOf(node, key));
    const isDescribed = nodes.some(({ properties }) => properties !== undefined && Object.hasOwn(properties, key));
    const isNamed = !isDescribed && SECRET_NAME.test(key) && !NO_SECRET_NAME.test(key);
    return secretsIn(each, { nodes: below, defs, path: [...path, key], isSecret: isSecret || isNamed });
  });
}

function branches(node: Node, defs: Walk["defs"]): readonly Node[] {
  const name = node.$ref?.split("/").at(-1);
  const referred = name === undefined ? [] : [defs[name] ?? {}];
  const all = [...(node.anyOf ?? []), ...(node.oneOf ?? []), ...referred];
  return [node, ...all.flatMap((each) => branches(each, defs))];
}

function childOf({ properties, patternProperties, additionalProperties }: Node, key: string): readonly Node[] {
  if (properties !== undefined && Object.hasOwn(properties, key)) return [properties[key]!];
  const rest = typeof additionalProperties === "object" ? [additionalProperties] : [];
  return [...Object.values(patternProperties ?? {}), ...rest];
}

function variableOf(path: ConfigPath): string {
  return `REVEILLE_${path
    .join("_")
    .replaceAll(/[^A-Za-z0-9]+/gu, "_")
    .toUpperCase()}`;
}
